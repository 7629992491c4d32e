"""Run a benchmark, and say what is being done, with the seconds since it began."""

import asyncio
import signal
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit status after a signal, as shells know it."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Progress:
    """A clock that is started when it is made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line."""
        print(f"[{time.monotonic() - self._began:6.1f} s] {text}", flush=True)


class BenchmarkFailed(Exception):
    """Something outside kept a benchmark from its figures; the message says what, and what to do."""


@contextmanager
def interruptible() -> Iterator[None]:
    """End on the first signal, and let no other one interrupt the removal of what was made."""

    def interrupt(*_: object) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        print("\nInterrupted: removing what was made, which takes a minute or two.", flush=True)
        raise KeyboardInterrupt

    former = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def run(benchmark: Coroutine[None, None, None]) -> int:
    """Run a benchmark to its end; the exit status, after telling what kept it from its figures."""
    status = 0
    try:
        with interruptible():
            asyncio.run(benchmark)
    except* KeyboardInterrupt:
        status = INTERRUPTED
        print("Interrupted; what was made is removed.", file=sys.stderr)
    except* BenchmarkFailed as failures:
        status = 1
        for failure in dict.fromkeys(map(str, failures.exceptions)):
            print(f"The benchmark failed: {failure}", file=sys.stderr)
    return status
