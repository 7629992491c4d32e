"""`.venv/bin/python -m bench.closed_loop`: see `make bench-closed-loop`.

Measures the contenders that bench/results/closed-loop.json lacks, one after the other, three quarters of an hour and
more each; `--only` measures one again. Each is kept as soon as it is there; the table is written from what there is.
"""

import argparse
import math
import sys
from collections.abc import Sequence

from bench.closed_loop import keeping, pacing
from bench.closed_loop.contenders import CONTENDERS
from bench.closed_loop.keeping import Kept
from bench.closed_loop.pacing import Pace
from bench.closed_loop.running import Run
from bench.closed_loop.scene import SHORTEST, Scene
from bench.closed_loop.stage import local_cluster, staged
from bench.progress import INTERRUPTED, BenchmarkFailed, Progress, interruptible

FULL = Scene().minutes


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is asked for, and write the table; the exit status says whether all of it is there."""
    options = _options(words)
    try:
        with interruptible():
            _measure(options, Progress())
    except (BenchmarkFailed, AssertionError) as failure:
        print(f"The benchmark failed: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "Interrupted; what was made is removed, and the runs before are kept.", file=sys.stderr
        )
        return INTERRUPTED
    return 0


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=".venv/bin/python -m bench.closed_loop", description=__doc__
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(CONTENDERS),
        help="measure this one, again if it is there; again for more",
    )
    parser.add_argument(
        "--minutes",
        type=_minutes,
        default=FULL,
        help=f"of load, with the failures at the same shares of it ({FULL:g}); others than the default need --save-as",
    )
    parser.add_argument(
        "--save-as", default=keeping.NAME, help=f"name of the result ({keeping.NAME})"
    )
    parser.add_argument(
        "--table",
        action="store_true",
        help="only write the table anew, from the runs that there are",
    )
    return parser.parse_args(words)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not SHORTEST <= minutes <= 24 * 60:
        raise argparse.ArgumentTypeError(
            f"{text!r}: write a number of minutes from {SHORTEST:g} to {24 * 60}; in less, failures would meet"
        )
    return minutes


def _measure(options: argparse.Namespace, progress: Progress) -> None:
    scene, file = Scene(minutes=options.minutes), keeping.path(options.save_as)
    if scene != Scene() and options.save_as == keeping.NAME:
        raise BenchmarkFailed(
            f"--minutes {options.minutes:g}: that is a trial, which must not take the place of the result; "
            "name it, as with --save-as closed-loop-trial"
        )
    kept = keeping.read(file, scene)
    names = _names(options, kept)
    if not names:
        progress.say(f"written: {keeping.write(kept, file)}")
        return
    keeping.refuse_another_machine(kept, file)
    progress.say("building and loading images")
    cluster = local_cluster()
    for place, name in enumerate(names, 1):
        progress.say(f"{place} of {len(names)}: {name}")
        with Pace(progress, pacing.plan(scene, name)) as pace:
            pace.begin(pacing.STAGING)
            with staged(cluster) as stage:
                found = Run(stage=stage, scene=scene, contender=name, pace=pace).measured()
                kept = kept.with_run(found)
                pace.say(f"written: {keeping.write(kept, file)}")


def _names(options: argparse.Namespace, kept: Kept) -> list[str]:
    """Whom to measure: those that are named, else those that lack."""
    if options.table:
        return []
    return options.only or [name for name in CONTENDERS if name not in kept.runs]


if __name__ == "__main__":
    sys.exit(main())
