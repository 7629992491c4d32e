"""Whether tasks are spread over all executors of a driver: which get none, and whether there is work for them.

Spark gives tasks to executors that have their state or their rows, and waits a while before it gives them to others; so
one that joins may get none. It may also be that the others are enough for all tasks of a batch. The two are told apart
by how many tasks there are side by side.
"""

from dataclasses import dataclass
from datetime import timedelta
from statistics import fmean

from sluice.core.observations import AgentReport, ExecutorWork, QueryReport

BATCHES = 3
SETTLED = timedelta(seconds=60)
"""How many batches with rows an executor must have seen, and for how long it must have been there, to count as unused:
the first batch of a new process is no ordinary one.
"""

_CUT = 2
"""Batches of a query of which tasks are counted and they are not: that in which an executor joined, and that of now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unused:
    """Executors that got none of the tasks of so many batches, while the others have so many slots.

    `width` is how many tasks a batch has side by side, at least.
    """

    ids: tuple[str, ...]
    tasks: int
    batches: int
    width: float
    slots: int

    @property
    def is_fault(self) -> bool:
        """Whether there is more to do at once than the others can."""
        return self.width > self.slots

    def __str__(self) -> str:
        named = f"executor{'s' if len(self.ids) > 1 else ''} {', '.join(self.ids)}"
        return f"{named} got none of {self.tasks} tasks in {self.batches} batches"


def all_used(report: AgentReport, executors: int) -> bool:
    """Whether so many executors are there, and each has completed a task."""
    work = report.work or ()
    return len(work) >= executors and all(one.tasks > 0 for one in work)


def unused(report: AgentReport, cores: int) -> Unused | None:
    """The executors of so many cores that should have had work by now; None if there are none, or nobody knows."""
    work = report.work or ()
    idle = [one for one in work if one.tasks == 0 and _is_settled(one)]
    busy = [one for one in work if one.tasks > 0]
    if not idle or not busy:
        return None
    youngest = min(idle, key=lambda one: one.batches)
    return Unused(
        ids=tuple(one.id for one in idle),
        tasks=youngest.tasks_of_all,
        batches=youngest.batches,
        width=_width(youngest, [query for query in report.queries if query.active]),
        slots=cores * len(busy),
    )


def _is_settled(one: ExecutorWork) -> bool:
    return one.there >= SETTLED and one.batches >= BATCHES


def _width(witness: ExecutorWork, queries: list[QueryReport]) -> float:
    """The tasks of a batch that can run at once: either those on the state or those before it, which it waits for."""
    each = witness.tasks_of_all / (witness.batches + _CUT * max(1, len(queries)))
    known = [q.state_partitions for q in queries if q.state_partitions is not None]
    if not known or len(known) < len(queries):
        return each
    state = min(each, fmean(known))
    return max(state, each - state)
