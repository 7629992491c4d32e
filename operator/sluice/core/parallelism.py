"""How many tasks a stage has where executors do not decide on it: on more slots than that nothing is faster.

A stage with state has a task for each partition in the checkpoint. A stage that reads Kafka has one for each partition
of its topics, unless the source or the program spreads rows anew: then a batch has more tasks in all.
"""

from sluice.core.observations import AgentReport, ExecutorWork, Processing

BATCHES = 10
"""So many batches with rows tell how many tasks one has: some of them are counted in part."""

MORE = 1.25
"""Up to so many tasks for each partition, a batch has one stage and little beside: a look whether there are rows."""


def fixed_tasks(report: AgentReport, known: int | None = None) -> int | None:
    """The tasks of a stage; None where the executors decide on them, or nobody can tell.

    What is `known` of the program stands until a driver tells, which it does some batches after its start.
    """
    if report.state_tasks is not None:
        return report.state_tasks
    if any(query.committed_at is None for query in report.counting):
        return known
    return _read_by_all(report, known)


def _read_by_all(report: AgentReport, known: int | None) -> int | None:
    """Those of the one query that runs, which has no state, if its batches have no others."""
    one, *others = report.counting or (None,)
    if one is None or others or one.fetching is None or one.processing is not Processing.BATCHES:
        return None
    if not report.work:
        return known
    witness = max(report.work, key=_batches)
    if witness.batches < BATCHES:
        return known
    tasks = witness.tasks_of_all / witness.batches
    return one.fetching.partitions if tasks <= MORE * one.fetching.partitions else None


def _batches(one: ExecutorWork) -> int:
    return one.batches
