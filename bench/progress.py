"""Run a benchmark, and say what is being done, with the seconds since it began."""

import asyncio
import sys
import time
from collections.abc import Coroutine


class Progress:
    """A clock that is started when it is made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line."""
        print(f"[{time.monotonic() - self._began:6.1f} s] {text}", flush=True)


class BenchmarkFailed(Exception):
    """Something outside kept a benchmark from its figures; the message says what, and what to do."""


def run(benchmark: Coroutine[None, None, None]) -> int:
    """Run a benchmark to its end; the exit status, after telling what kept it from its figures."""
    status = 0
    try:
        asyncio.run(benchmark)
    except* BenchmarkFailed as failures:
        status = 1
        for failure in dict.fromkeys(map(str, failures.exceptions)):
            print(f"The benchmark failed: {failure}", file=sys.stderr)
    return status
