"""What a person sees while a command works: one line per step, with the time since the start."""

import sys
import time


class Progress:
    """Print to the standard error, because the standard output belongs to a command's result."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def say(self, message: str) -> None:
        elapsed = time.monotonic() - self._started
        print(f"[{elapsed:6.1f} s] {message}", file=sys.stderr, flush=True)
