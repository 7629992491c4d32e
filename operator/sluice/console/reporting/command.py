"""The command `sluice report`."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from sluice.adapters.clock import SystemClock
from sluice.console.options import Span, Where, located, one_job
from sluice.console.trouble import EXIT_CODES, Exit

SHORTEST, LONGEST = timedelta(minutes=5), timedelta(days=28)
"""The longest is the usual window of an objective, for which Prometheus is to keep its data."""

_ENDINGS = (".html", ".svg")


class Picture(click.ParamType[Path]):
    """The name of a file whose ending says what is to be written."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Read it."""
        path = Path(value)
        if path.suffix.lower() not in _ENDINGS:
            told = f"{str(value)!r} ends neither in .html nor in .svg"
            self.fail(f"{told}; write for example report.html or picture.svg", param, ctx)
        return path


@click.command(epilog=EXIT_CODES, short_help="Draw what the operator did for a job.")
@one_job
@click.option(
    "--since",
    type=Span(SHORTEST, LONGEST),
    default="1h",
    show_default=True,
    help="How far back it goes; not beyond the day when the job was made.",
)
@click.option(
    "-o",
    "--output",
    type=Picture(),
    metavar="FILE",
    help="What to write: .html is a page with tables, .svg a picture. Default: JOB-report.html.",
)
@located
def report(where: Where, job: str, since: timedelta, output: Path | None) -> int:
    """Draw load, executors, latency and lag of JOB, with its recoveries and rescales, as one file."""
    with where.reader() as reader:
        from sluice.console.reporting.gathering import gathered
        from sluice.console.reporting.page import page
        from sluice.console.reporting.phrases import between
        from sluice.console.reporting.picture import picture
        from sluice.console.reporting.writing import write

        course = gathered(reader, job, since, SystemClock().now())
        path = output or Path(f"{course.job.name}-report.html")
        write(path, picture(course) if path.suffix.lower() == ".svg" else page(course))
        click.echo(f"{path}: {between(course.start, course.now, course.span)}")
    return Exit.FINE
