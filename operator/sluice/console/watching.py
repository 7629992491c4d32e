"""The table of all jobs, once or again and again in place."""

from datetime import timedelta
from time import sleep

from rich.console import Console
from rich.live import Live

from sluice.console import fleet as tables
from sluice.console.fleet import Fleet
from sluice.console.gathering import Reader
from sluice.console.printing import PLAIN_WIDTH, plain, terminal, write, write_text
from sluice.console.trouble import Exit, Unreachable
from sluice.ports import Clock

SPAN = timedelta(minutes=30)
POINTS = 15


def show_once(reader: Reader, namespace: str | None, form: str, clock: Clock) -> int:
    """Show the table as it is now."""
    found = reader.fleet(namespace, SPAN, POINTS, clock.now())
    screen = terminal()
    if form != "table":
        write(tables.data(found), form)
    elif screen is None:
        write_text(plain(tables.table(found, PLAIN_WIDTH)))
    else:
        screen.print(tables.table(found, screen.width))
    return Exit.FINE if found.is_fine else Exit.PROBLEM


def watch(
    reader: Reader, namespace: str | None, every: timedelta, screen: Console, clock: Clock
) -> int:
    """Show the table in place, until the person has seen enough."""
    found = reader.fleet(namespace, SPAN, POINTS, clock.now())
    try:
        with Live(console=screen, screen=True, auto_refresh=False) as live:
            while True:
                live.update(tables.table(found, screen.width, screen.height), refresh=True)
                sleep(every.total_seconds())
                found = next_look(reader, namespace, found, clock)
    except KeyboardInterrupt:
        return Exit.FINE


def next_look(reader: Reader, namespace: str | None, before: Fleet, clock: Clock) -> Fleet:
    """The table as it is now; while the cluster does not answer, the one before with what is wrong."""
    try:
        return reader.fleet(namespace, SPAN, POINTS, clock.now())
    except Unreachable as error:
        return before.stale(error, clock.now())
