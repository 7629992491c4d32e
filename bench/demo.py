"""How long `make demo` takes, from nothing running to a job that is Ready under load.

    python3 -m bench.demo [--cold] [--save-as NAME]

Runs it twice: with nothing running, and again with everything up; then `make demo-down`. With --cold the first run
also builds all programs and images, in an empty cache of its own. A local cluster that is up is taken down for it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

from bench import report
from bench.progress import Progress
from bench.report import Figure, Result

_METHOD = (
    "Wall-clock time of the commands as a person types them, on a machine that does nothing else, until the job is "
    "Ready and its first numbers are shown; the story that the demo then plays is left out (MINUTES=0). Python's "
    "packages and Go's modules are those that the machine has; cold means that programs and images are built, too."
)


def main() -> int:
    """Measure, write the result, clean up."""
    options = _options()
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="sluice-cold-") as folder:
        environment = {**os.environ, **({"SLUICE_CACHE": folder} if options.cold else {})}
        _make("cluster-down", environment, progress)
        first = _make("demo", environment, progress, "MINUTES=0")
        again = _make("demo", environment, progress, "MINUTES=0")
        removal = _make("demo-down", environment, progress)
        _make("cluster-down", environment, progress)
    name = "first demo, everything built" if options.cold else "demo, nothing running"
    figures = [
        Figure(name=name, value=first, unit="s"),
        Figure(name="demo, everything running", value=again, unit="s"),
        Figure(name="demo-down", value=removal, unit="s"),
    ]
    result = Result(
        name="demo-cold" if options.cold else "demo",
        title="From nothing to a running job",
        method=_METHOD,
        settings={"cold": options.cold},
        versions=report.versions(),
        runs={"run 1": figures},
    )
    progress.say(f"written: {report.write(result, save_as=options.save_as)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m bench.demo")
    parser.add_argument("--cold", action="store_true", help="build everything first")
    parser.add_argument("--save-as", default="", help="name of the result, if not demo")
    return parser.parse_args()


def _make(target: str, environment: Mapping[str, str], progress: Progress, *settings: str) -> float:
    """Run a target of the Makefile; the seconds that it took."""
    progress.say(f"make {' '.join((target, *settings))}")
    started = time.monotonic()
    done = subprocess.run(["make", target, *settings], env=environment, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"make {target} failed; see above")
    return time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main())
