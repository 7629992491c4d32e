"""Add and remove executors of the running application, without restarting anything.

The calls are internal to Spark and were tried on Kubernetes with 4.2, 4.1 and 3.5: the target is absolute and sticks,
lost executors are replaced up to it. Removing has two steps: executors are retired, which leaves them what they work
on, and ended later; `leaving` says when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluice.agent.tasks import Tasks

_SCALING_BACKEND = "org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend"


@dataclass(frozen=True)
class Work:
    """What an executor did: the instant at which it joined, in seconds since 1970, and the tasks that it has completed.

    `batches` with rows have begun and been committed since it joined; all executors have completed `tasks_of_all` in
    that time.
    """

    id: str
    joined: float
    tasks: int
    batches: int
    tasks_of_all: int


@dataclass(frozen=True)
class Executors:
    """The executors wanted and those that can be given tasks; seconds for which all so far had a task.

    `work` is what those did, and `tasks` what there is for them to do. Both are None where Spark does not tell.
    """

    target: int | None = None
    ids: tuple[str, ...] = ()
    task_seconds: float | None = None
    work: tuple[Work, ...] | None = None
    tasks: Tasks | None = None


class CannotScaleError(Exception):
    """The application cannot change its executors; the message says what to change."""


def initial_target(context: Any, from_operator: int | None) -> int | None:
    """Return the number of executors that the application was started with."""
    if from_operator is not None:
        return from_operator
    text = context.getConf().get("spark.executor.instances") or ""
    return int(text) if text.isdecimal() else None


def registered(context: Any) -> tuple[str, ...]:
    """Return the ids of the executors that can be given tasks, oldest first."""
    return Watch(context).registered()


class Watch:
    """The executors of one context; what does not change is asked of Java once."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self._backend = _backend(context)
        self._can_scale = _can_scale(context, self._backend)

    def registered(self) -> tuple[str, ...]:
        """Return the ids of the executors that can be given tasks, oldest first."""
        ids = [id for id in self.names().split(",") if id]
        return tuple(sorted((id for id in ids if self._backend.isExecutorActive(id)), key=_age))

    def names(self) -> str:
        """Return a text that changes when an executor comes or has gone."""
        return str(self._backend.getExecutorIds().mkString(",")) if self._can_scale else ""


def scale(context: Any, target: int) -> tuple[str, ...]:
    """Set the target and retire the newest executors above it; return the ids of those."""
    backend = _backend(context)
    _check(context, backend)
    victims = registered(context)[target:]
    if victims:
        _check_removal(context)
    context._jsc.sc().requestTotalExecutors(target, 0, _empty_map(context))
    return tuple(id for id in _newest_first(victims) if _retire(context, backend, id))


def replace(context: Any, ids: Sequence[str]) -> tuple[str, ...]:
    """Retire those of these executors that are there; return their ids.

    When they have ended, Spark makes others up to the target.
    """
    backend = _backend(context)
    _check(context, backend)
    _check_removal(context)
    there = [id for id in registered(context) if id in ids]
    return tuple(id for id in there if _retire(context, backend, id))


def known(context: Any) -> frozenset[str]:
    """Return the ids of all executors that have not ended, also of retired ones."""
    return frozenset(Watch(context).names().split(","))


def active_jobs(context: Any) -> frozenset[int]:
    """Return the ids of the jobs that run."""
    return frozenset(context.statusTracker().getActiveJobsIds())


def end(context: Any, ids: Sequence[str]) -> None:
    """End executors, but for those that have a task; the target stays."""
    adjust_target, count_failures, force = False, False, False
    if ids:
        names = context._jvm.PythonUtils.toSeq(list(ids))
        _backend(context).killExecutors(names, adjust_target, count_failures, force)


def _check(context: Any, backend: Any) -> None:
    if not _can_scale(context, backend):
        raise CannotScaleError(
            f"the master {context.master!r} has no executors to add or remove; use a cluster's"
        )


def _check_removal(context: Any) -> None:
    if context.getConf().get("spark.decommission.enabled") != "true":
        raise CannotScaleError(
            "no executor is removed where spark.decommission.enabled is not true: set it to true"
        )


def _retire(context: Any, backend: Any, id: str) -> bool:
    # The target is what it is to be already, so Spark must not lower it for each victim. Nor must it tell the executor,
    # which would then end by itself: Spark believes that it knows, and only gives it no more tasks.
    adjust_target, by_executor = False, True
    none = context._jvm.scala.Option.empty()
    info = context._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("sluice", none)
    return bool(backend.decommissionExecutor(id, info, adjust_target, by_executor))


def _backend(context: Any) -> Any:
    return context._jsc.sc().schedulerBackend()


def _can_scale(context: Any, backend: Any) -> bool:
    scaling = context._jvm.java.lang.Class.forName(_SCALING_BACKEND)
    return bool(scaling.isInstance(backend))


def _empty_map(context: Any) -> Any:
    empty = context._jvm.java.lang.Class.forName("scala.collection.immutable.Map$EmptyMap$")
    return empty.getField("MODULE$").get(None)


def _newest_first(ids: Sequence[str]) -> list[str]:
    return sorted(ids, key=_age, reverse=True)


def _age(id: str) -> tuple[int, str]:
    """Order ids by number; Spark counts them up and never gives one twice."""
    return (int(id) if id.isdecimal() else 0), id
