"""The tasks of the stages that run: those that wait for a core, and how the others ended.

Spark does a task that has failed again, and its query fails with the fourth time only. Until then, which takes minutes
where a task waits for something that does not come, nothing but the log would tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluice.agent import logs
from sluice.agent.essence import essence

_STATUS = "org.apache.spark.status"
_LONGEST_ERROR = 600
"""Characters; it becomes part of a condition's message."""


@dataclass(frozen=True)
class Tasks:
    """`waiting` could run if there were more cores; `error` is what the last one raised that has failed."""

    waiting: int = 0
    completed: int = 0
    failed: int = 0
    error: str | None = None


class Stages:
    """The stages of one context."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._asked: tuple[int, ...] = ()
        self._error: str | None = None

    def tasks(self) -> Tasks:
        """Count the tasks of the stages that run."""
        tracker = self._context.statusTracker()
        listed = [tracker.getStageInfo(id) for id in tracker.getActiveStageIds()]
        # A stage may have ended since it was listed.
        stages = [stage for stage in listed if stage is not None]
        return Tasks(
            waiting=sum(_waiting(stage) for stage in stages),
            completed=sum(stage.numCompletedTasks for stage in stages),
            failed=sum(stage.numFailedTasks for stage in stages),
            error=self._error_of([stage for stage in stages if stage.numFailedTasks > 0]),
        )

    def _error_of(self, failing: Sequence[Any]) -> str | None:
        if not failing:
            return None
        newest = max(failing, key=lambda stage: stage.stageId)
        asked = (newest.stageId, newest.currentAttemptId, newest.numFailedTasks)
        if asked != self._asked:
            self._asked, self._error = asked, _newest_error(self._context, newest)
        return self._error


def _waiting(stage: Any) -> int:
    return max(0, int(stage.numTasks - stage.numCompletedTasks - stage.numActiveTasks))


def _newest_error(context: Any, stage: Any) -> str | None:
    """Ask the status store; None where this Spark's does not tell."""
    try:
        jvm, store = context._jvm, context._jsc.sc().statusStore()
        failed = jvm.java.util.ArrayList()
        failed.add(getattr(jvm, f"{_STATUS}.api.v1.TaskStatus").FAILED)
        by_end, is_ascending = jvm.scala.Option.apply("ct"), False
        tasks = store.taskList(
            stage.stageId, stage.currentAttemptId, 0, 1, by_end, is_ascending, failed
        )
        return essence(tasks.head().errorMessage().get(), _LONGEST_ERROR)
    except Exception as error:  # noqa: BLE001  # py4j raises errors of many kinds for a name that is not there
        logs.write("info", "This Spark does not tell why tasks failed", error=repr(error)[:500])
        return None
