"""Leave word of why the program failed, where the kubelet picks it up for the pod's status.

Without it the status would hold the end of the log, which for Spark is the middle of a query plan.
"""

from __future__ import annotations

import builtins
import json
import os
import re
import traceback

from sluice.agent.essence import essence

PATH_VARIABLE = "SLUICE_TERMINATION_LOG"

# The kubelet keeps 4096 bytes, and a character may need four of them.
_LIMIT = 900

_QUERY_FAILED = "StreamingQueryException"
_AGENT_FOLDER = os.path.dirname(__file__)
_LIBRARY = re.compile(r"<|.*/(site-packages|dist-packages|lib/python[\d.]*|pyspark)[/.]")


def leave(error: BaseException) -> None:
    """Write class and message of what ended the program, if it is a failure and anyone wants to know."""
    error = _first_of(error)
    message = _message(error)
    if message:
        write(type(error).__name__, message)


def _first_of(error: BaseException) -> BaseException:
    """Return the first of several, such as asyncio's tasks may raise together: their group only says how many."""
    group = getattr(builtins, "BaseExceptionGroup", ())  # of Python 3.11
    while isinstance(error, group):
        error = error.exceptions[0]
    return error


def write(kind: str, message: str) -> None:
    """Write what ended the program."""
    path = os.environ.get(PATH_VARIABLE, "")
    if not path:
        return
    word = {"class": kind, "message": message[:_LIMIT]}
    try:
        # Names of files and texts of JSON may hold halves of characters, which no encoding takes.
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            json.dump(word, file, ensure_ascii=False)
    except OSError:
        return


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        told = getattr(error, "told", error.code)
        return told if isinstance(told, str) else ""
    place = _place(error)
    told = essence(str(error), _LIMIT - len(place))
    return (told or type(error).__name__) + place


def _place(error: BaseException) -> str:
    """Return where the program was when it failed; nothing if it only waited, or others' code was at work."""
    if type(error).__name__ == _QUERY_FAILED:
        return ""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [frame for frame in frames if not _is_others(frame[0])]
    return " ({}, line {})".format(*own[-1]) if own else ""


def _is_others(filename: str) -> bool:
    return filename.startswith(_AGENT_FOLDER) or _LIBRARY.match(filename) is not None
