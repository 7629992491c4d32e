"""Leave word of why the program failed, where the kubelet picks it up for the pod's status.

Without it the status would hold the end of the log, which for Spark is the middle of a query plan.
"""

from __future__ import annotations

import json
import os

PATH_VARIABLE = "SLUICE_TERMINATION_LOG"

# The kubelet keeps 4096 bytes, and a character may need four of them.
_LIMIT = 900

# What a failed query says comes first; its whole plan follows and would fill the limit.
_PLAN = "=== Streaming Query ==="


def leave(error: BaseException) -> None:
    """Write class and message of what ended the program, if it is a failure and anyone wants to know."""
    message = _message(error)
    if message:
        write(type(error).__name__, message)


def write(kind: str, message: str) -> None:
    """Write what ended the program."""
    path = os.environ.get(PATH_VARIABLE, "")
    if not path:
        return
    word = {"class": kind, "message": message[:_LIMIT]}
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(word, file, ensure_ascii=False)
    except OSError:
        return


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        told = getattr(error, "told", error.code)
        return told if isinstance(told, str) else ""
    told, _, _ = str(error).partition(_PLAN)
    return told.strip() or type(error).__name__
