"""Keep children that the program forks free of the agent's exit handler and SIGTERM handler.

A child with our handlers would stop its parent's Spark when it exits, and would not die of SIGTERM.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable

_mask = threading.local()


def leave_in_children(at_exit: Callable[[], object], on_sigterm: Callable[..., object]) -> None:
    """Give each forked child the exit and the SIGTERM that plain Python gives it."""

    def leave() -> None:
        atexit.unregister(at_exit)
        if signal.getsignal(signal.SIGTERM) == on_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _restore_sigterm()

    # A SIGTERM that meets the child between its fork and `leave` would be lost, so it has to wait.
    os.register_at_fork(
        before=_hold_sigterm, after_in_parent=_restore_sigterm, after_in_child=leave
    )


def _hold_sigterm() -> None:
    _mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _restore_sigterm() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _mask.before)
