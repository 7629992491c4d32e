"""`python -m e2e [--brief | [--] PYTEST ARGUMENTS]`: the end-to-end tests, with all that they need brought up before.

All of them together run in three lanes, each with an operator, a Kafka and namespaces of its own; `--brief` leaves out
those that are thorough.
Those that harm the cluster itself, or measure what its processors can do, come after, alone.
A cluster that was up already stays; one that was made for the tests goes with them (SLUICE_KEEP_CLUSTER=1 keeps it).
What is left of one that a restart of the machine ended is removed first: its pods would start again with it, and take
room that the tests want.
"""

import os
import subprocess
import sys
import time

_BRIEF = ["--brief"]
_IN_LANES = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]


def runs(arguments: list[str]) -> list[list[str]]:
    """Return what pytest is told, once for each time that it runs."""
    if arguments and arguments != _BRIEF:
        # Passed on, the dashes would make file names of pytest's options.
        return [arguments[arguments[0] == "--" :]]
    of_these = " and not thorough" if arguments else ""
    return [["e2e", "-m", f"not alone{of_these}", *_IN_LANES], ["e2e", "-m", f"alone{of_these}"]]


def main(arguments: list[str]) -> int:
    """Bring up cluster and images, run pytest on this folder, and give its exit code."""
    was_up = _succeeds("-m", "e2e.cluster", "status")
    started = time.monotonic()
    try:
        if not was_up:
            _step("removing what is left of a cluster", "-m", "e2e.cluster", "down")
        _step("cluster", "-m", "e2e.cluster", "up")
        _step("images", "-m", "e2e.images")
        print(f"[{time.monotonic() - started:7.1f} s] end-to-end tests", flush=True)
        return max(_pytest(words) for words in runs(arguments))
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(error.cmd[1:])} failed; see above", file=sys.stderr)
        return 1
    finally:
        if not was_up and not os.environ.get("SLUICE_KEEP_CLUSTER"):
            _step("removing the cluster", "-m", "e2e.cluster", "down")


def _pytest(words: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", "--durations=12", *words]).returncode


def _step(name: str, *words: str) -> None:
    print(f"--- {name}", flush=True)
    subprocess.run([sys.executable, *words], check=True)


def _succeeds(*words: str) -> bool:
    done = subprocess.run(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
