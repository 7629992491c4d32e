"""Few JSON lines on standard error; never an exception, because the user's program comes first."""

import contextlib
import json
import sys
import time
from typing import Any


def timestamp(seconds: float) -> str:
    """Return an instant as RFC 3339 in UTC with milliseconds."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds * 1000) % 1000:03d}Z"


def write(level: str, message: str, **fields: Any) -> None:
    """Write one line to the process's own standard error, which the program may have replaced."""
    line = {"time": timestamp(time.time()), "level": level, "logger": "sluice.agent"}
    text = json.dumps({**line, "message": message, **fields}, default=str)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.__stderr__.write(text + "\n")  # type: ignore[union-attr]  # None is suppressed
        sys.__stderr__.flush()  # type: ignore[union-attr]  # None is suppressed
