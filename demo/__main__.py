"""`python3 -m demo up`, `python3 -m demo down`: see `make demo` and `make demo-down`."""

import argparse
import sys
import time

from demo import numbers, removing, steps, table, trouble
from demo.cluster import DemoFailed
from demo.raising import raise_demo
from e2e.images.progress import Progress

REFRESHES = 6
REFRESH_SECONDS = 10.0
"""The operator writes new numbers into a status at most every ten seconds."""


def main() -> int:
    """Run one command; the exit status says whether it succeeded."""
    options = _options()
    try:
        if options.command == "up":
            _up(Progress(), options.refreshes)
        else:
            _down(Progress())
    except DemoFailed as failure:
        if options.command == "up":
            print(trouble.evidence(), flush=True)
        print(f"\nFailed: {failure}\nWhat to do: {failure.remedy}.", flush=True)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; what was started goes on. `make demo-down` removes it.", flush=True)
        return 130
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m demo", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="bring the demo up and show its numbers")
    up.add_argument(
        "--refreshes", type=int, default=REFRESHES, help=f"rows of the table ({REFRESHES})"
    )
    commands.add_parser("down", help="remove the demo")
    return parser.parse_args()


def _up(progress: Progress, refreshes: int) -> None:
    raise_demo(progress)
    _show_numbers(refreshes)
    print(f"\n{steps.next_steps()}", flush=True)


def _show_numbers(refreshes: int) -> None:
    print(f"\n{table.heading()}", flush=True)
    for turn in range(refreshes):
        if turn:
            time.sleep(REFRESH_SECONDS)
            print(flush=True)
        for told in (numbers.ask_status(), numbers.ask_prometheus()):
            print(table.row(told), flush=True)
    print("", *table.LEGEND, sep="\n", flush=True)


def _down(progress: Progress) -> None:
    removing.remove_demo(progress)
    progress.say(removing.advice())


if __name__ == "__main__":
    sys.exit(main())
