"""Run the user's program as `python3 MAIN_FILE ARGS...` would, in this process and its main thread.

What differs from plain Python, and cannot be avoided: `sys.orig_argv`, a SIGTERM handler where there was
none, and the agent's daemon threads, of which Python 3.12 and later warn when the program forks.
Everything else is mended here: `__main__`, `__file__`, `sys.argv`, `sys.path[0]`, and tracebacks without
the agent's frames.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import os
import runpy
import sys
import types
import zipfile
from collections.abc import Sequence

_AGENT_FOLDER = os.path.dirname(__file__)


class MainFileUnreadable(SystemExit):
    """Ends the process as Python does when it cannot read the program."""

    def __init__(self, told: str) -> None:
        super().__init__(2)
        self.told = told


def run(path: str, arguments: Sequence[str]) -> None:
    """Run a .py file, or a folder or zip file with a `__main__.py`, until it returns or raises."""
    sys.argv = [path, *arguments]
    if folder(path) == path:
        del sys.path[0]  # runpy inserts the program's own
        runpy.run_path(path, run_name="__main__")
    else:
        sys.path[0] = folder(path)
        _run_file(path)


def folder(path: str) -> str:
    """Return where the program's own modules are, which Python finds before all others."""
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        return path
    return os.path.dirname(os.path.realpath(path))


def report(error: BaseException) -> None:
    """Print an uncaught exception as Python would, without the agent's frames.

    The caller raises it again, so that Python chooses the exit code and, for KeyboardInterrupt, the signal.
    """
    _drop_agent_frames(error)
    sys.excepthook(type(error), error, error.__traceback__)
    sys.excepthook = _silent


def _run_file(path: str) -> None:
    # runpy.run_path would take its module out of sys.modules when main returns, although threads, atexit
    # handlers and pickles still look for `__main__` there.
    filename = os.path.abspath(path)
    source = _source(filename)
    module = types.ModuleType("__main__")
    vars(module).update(
        __annotations__={},
        __builtins__=builtins,
        __cached__=None,
        __file__=filename,
        __loader__=importlib.machinery.SourceFileLoader("__main__", filename),
    )
    sys.modules["__main__"] = module
    exec(compile(source, filename, "exec", dont_inherit=True), vars(module))


def _source(filename: str) -> bytes:
    try:
        with open(filename, "rb") as file:
            return file.read()
    except OSError as error:
        told = f"can't open file {filename!r}: [Errno {error.errno}] {error.strerror}"
        sys.stderr.write(f"{sys.executable}: {told}\n")
        raise MainFileUnreadable(told) from None


def _drop_agent_frames(error: BaseException) -> None:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = _without_agent(error.__traceback__)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]  # None ends the loop


def _without_agent(traceback: types.TracebackType | None) -> types.TracebackType | None:
    # In a loop: a program that calls itself for ever has as many frames as Python lets anybody go down.
    kept = []
    while traceback is not None:
        if not _is_ours(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    for frame, following in zip(kept, [*kept[1:], None]):  # noqa: B905  # of Python 3.10
        if frame.tb_next is not following:
            frame.tb_next = following
    return kept[0] if kept else None


def _is_ours(filename: str) -> bool:
    # runpy runs folders and zip files, and its frames show only there.
    return os.path.dirname(filename) == _AGENT_FOLDER or filename == "<frozen runpy>"


def _silent(*_exception: object) -> None:
    """Print nothing: `report` did."""
