"""The processes of the driver: the program, and what it has started, the JVM above all."""

from __future__ import annotations

import contextlib
import os
import signal


def kill_family(driver: int) -> None:
    """SIGKILL what the driver has started, then the driver: a JVM without its parent goes on for a while."""
    kill_descendants(driver)
    _send(signal.SIGKILL, driver)


def kill_descendants(driver: int) -> None:
    """SIGKILL what the driver has started."""
    for process in _descendants(driver):
        _send(signal.SIGKILL, process)


def freeze(process: int) -> None:
    """Let a process stand still, until it is killed."""
    _send(signal.SIGSTOP, process)


def _send(what: signal.Signals, process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, what)


def _descendants(process: int) -> list[int]:
    children = _children()
    found, rest = [], [process]
    while rest:
        for child in children.get(rest.pop(), []):
            found.append(child)
            rest.append(child)
    return found


def _children() -> dict[int, list[int]]:
    """The children of each process, from /proc."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            # The command, in brackets, may contain anything; state and parent follow it.
            parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    return children
