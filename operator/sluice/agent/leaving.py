"""Executors that leave: they get no more tasks at once, and end when the jobs have ended that they worked for.

Spark's own decommissioning ends an executor once it is idle and has handed its blocks on. The stages that run still
look for its part of a shuffle where it was: they fail, are done again, and what a task had written by then, to a sink
without transactions, is written twice. So an executor stays until no job is left that it may have had a task of. A
micro-batch is one or more jobs; one of continuous processing has no end, and its executors stay.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluice.agent import executors


@dataclass(frozen=True)
class _Leaver:
    """An executor of one context that is given no more tasks, and the jobs that ran when that began."""

    context: Any
    id: str
    jobs: frozenset[int]


class Leaving:
    """Those that have not ended yet; asked for in one thread, seen off in another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leavers: list[_Leaver] = []

    def begin(self, context: Any, ids: Sequence[str]) -> None:
        """Note executors that were just retired."""
        # Asked after they were: a job that is not among these can have no task on them.
        jobs = executors.active_jobs(context)
        with self._lock:
            self._leavers += [_Leaver(context, id, jobs) for id in ids]

    def see_off(self, context: Any) -> None:
        """End those whose jobs have ended; what belonged to another context has gone with it."""
        with self._lock:
            waiting = [one for one in self._leavers if one.context is context]
            if waiting:
                active, there = executors.active_jobs(context), executors.known(context)
                waiting = [one for one in waiting if one.id in there]
                executors.end(context, [one.id for one in waiting if not one.jobs & active])
            self._leavers = waiting
