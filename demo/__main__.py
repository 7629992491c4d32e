"""`python3 -m demo up`, `python3 -m demo down`: see `make demo` and `make demo-down`."""

import argparse
import sys

from demo import playing, removing, steps, trouble, view
from demo.cluster import DemoFailed
from demo.expecting import is_fine
from demo.raising import LOOK_AGAIN, raise_demo
from demo.story import MINUTES
from demo.summary import summary
from demo.waiting import Sight, wait_for
from e2e.images.progress import Progress

NUMBERS_SECONDS = 120.0
"""From the first batch to the first numbers. The operator writes new ones into a status every ten seconds."""


def main() -> int:
    """Run one command; the exit status says whether it succeeded."""
    options = _options()
    try:
        if options.command == "up":
            return _up(Progress(), options.minutes)
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
    up = commands.add_parser("up", help="bring the demo up, and show its story")
    up.add_argument(
        "--minutes",
        type=_minutes,
        default=MINUTES,
        help=f"how long the story is shown ({MINUTES}); 0 shows the first numbers only",
    )
    commands.add_parser("down", help="remove the demo")
    return parser.parse_args()


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1.0
    if not 0 <= minutes <= MINUTES:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to {MINUTES}")
    return minutes


def _up(progress: Progress, minutes: float) -> int:
    raise_demo(progress, afresh=minutes > 0)
    _await_numbers(progress)
    is_as_expected = not minutes or _play(minutes)
    print(f"\n{steps.next_steps()}", flush=True)
    return 0 if is_as_expected else 1


def _await_numbers(progress: Progress) -> None:
    """Show how the stream flows as soon as that is known; a copy that began sooner would only hold it up."""
    promise = playing.promised()

    def see() -> Sight:
        look = playing.look(promise, 0.0)
        return Sight(done=look.latency_p95 is not None, words=view.flow(look))

    wait_for("numbers", see, progress, seconds=NUMBERS_SECONDS, remedy=LOOK_AGAIN)


def _play(minutes: float) -> bool:
    """Show the story; whether all came that was expected of it."""
    story = playing.play(minutes)
    print(f"\n{summary(story)}", flush=True)
    if is_fine(story):
        return True
    print(f"Not all came in its time. Where to look:\n{trouble.evidence()}", flush=True)
    return False


def _down(progress: Progress) -> None:
    removing.remove_demo(progress)
    progress.say(removing.advice())


if __name__ == "__main__":
    sys.exit(main())
