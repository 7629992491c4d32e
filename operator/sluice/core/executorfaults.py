"""What goes wrong with executors, and what to do about it: the cluster refuses them, they do not start, or they end
although nobody asks them to.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sluice.core import hints
from sluice.core.application import StreamJob
from sluice.core.observations import LostExecutor, Observed, WaitingExecutor

RECENT = timedelta(minutes=5)
"""The age up to which the end of an executor is told: Spark has long started another one by then."""

_WORDS_OF_SPARK = ("SparkContext was shut down", "ExecutorLostFailure", "FetchFailed")
"""What Spark tells of a failure that began in an executor. Executors end in others as well: because the driver does."""

BEHIND = timedelta(minutes=1)
"""How long before a failure an executor may have ended to be told of as what may be behind it: Spark does a task four
times, and each time on another executor if the one before was lost.
"""


_MOST_CHARACTERS = 300
"""Of the last line of an executor's log; what Java says last is the deepest cause."""


def told(job: StreamJob, seen: Observed, now: datetime) -> str:
    """Sentences to add to a condition, beginning with a space; empty if nothing is wrong."""
    return of_waiting(job, seen.waiting) + _refused(job, seen) + _recently_ended(job, seen, now)


def behind(job: StreamJob, failure: str, at: datetime, lost: LostExecutor | None) -> str:
    """The same for a failure of a driver or its queries: the executor that had ended just before."""
    is_blamed = any(words in failure for words in _WORDS_OF_SPARK)
    if lost is None or lost.ended.at is None or not is_blamed:
        return ""
    return of_lost(job, lost) if lost.ended.at <= at <= lost.ended.at + BEHIND else ""


def of_waiting(job: StreamJob, executors: Sequence[WaitingExecutor]) -> str:
    """The same for executors that do not start."""
    hindered = [(pod, *pod.obstacle) for pod in executors if pod.obstacle is not None]
    if not hindered:
        return ""
    pod, reason, message = hindered[0]
    many = len(hindered)
    who = (
        f"Executor {pod.name} does" if many == 1 else f"{many} executors, {pod.name} among them, do"
    )
    told = f" {who} not start: {reason}: {message.rstrip('.')}."
    remedy = hints.of_ordered_node(pod.ordered_node)
    return told + (remedy or hints.executor_remedy(job, f"{reason}: {message}"))


def of_lost(job: StreamJob, lost: LostExecutor) -> str:
    """The same for one that has ended."""
    ended = lost.ended
    when = f" at {ended.at:%H:%M:%S} UTC" if ended.at is not None else ""
    last = ended.message.rpartition("\n")[2][:_MOST_CHARACTERS]
    # Of a pod that was evicted, the message has the reason.
    reason = "" if ended.reason == "Error" or last.startswith(ended.reason) else ended.reason
    code = f"exit code {ended.exit_code}" if ended.exit_code >= 0 else ""
    outside = ended.outside[:_MOST_CHARACTERS].rstrip(".")
    how = ": ".join(part for part in (outside or reason, code, last) if part).rstrip(".")
    return f" Executor {lost.name} ended{when}: {how}.{hints.executor_remedy(job, how)}"


def _refused(job: StreamJob, seen: Observed) -> str:
    if seen.refused is None:
        return ""
    why = seen.refused.message.rstrip(".")
    return f" The cluster refuses pods of executors: {why}.{hints.executor_remedy(job, why)}"


def _recently_ended(job: StreamJob, seen: Observed, now: datetime) -> str:
    driver, lost = seen.driver, seen.lost
    if lost is None or driver is None or not driver.is_up:
        return ""
    return of_lost(job, lost) if now - (lost.ended.at or now) <= RECENT else ""
