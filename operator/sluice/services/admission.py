"""Whether the cluster would make the executors that a driver lacks. Spark is told, and tells nobody but its log."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.core.application import JobKey, StreamJob
from sluice.core.observations import Observed, Refusal
from sluice.errors import InvalidSpec, SluiceError
from sluice.manifests.pods import executor_pod
from sluice.ports import PODS, Clock, Cluster

log = logging.getLogger(__name__)

SOON = timedelta(seconds=10)
"""Spark makes pods within that time, if nothing hinders."""

AGAIN = timedelta(seconds=30)
"""After that time the API server is asked again: nothing tells when a quota has room."""


@dataclass(frozen=True, slots=True)
class _Lack:
    """Executors without a pod: when to ask what hinders them, and what was answered last."""

    next_at: datetime
    refused: Refusal | None = None


class Admission:
    """What the API server says to one more executor of jobs that have fewer pods of them than their drivers want."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._lacks: dict[JobKey, _Lack] = {}

    def forget(self, key: JobKey) -> None:
        """There is no such job any more."""
        self._lacks.pop(key, None)

    def forget_all(self) -> None:
        """Begin anew."""
        self._lacks.clear()

    async def ask(self, job: StreamJob, seen: Observed) -> tuple[Refusal | None, float | None]:
        """Why no more pods of executors are made, and the seconds after which to ask again, if some are lacking."""
        if not _lacks_pods(seen):
            self.forget(job.key)
            return None, None
        now = self._clock.now()
        lack = self._lacks.get(job.key) or _Lack(now + SOON)
        if now >= lack.next_at:
            refused = await self._refusal(job, seen, lack.refused)
            lack = _Lack(now + AGAIN, refused)
        self._lacks[job.key] = lack
        return lack.refused, (lack.next_at - now).total_seconds()

    async def _refusal(
        self, job: StreamJob, seen: Observed, before: Refusal | None
    ) -> Refusal | None:
        assert seen.driver is not None
        try:
            await self._cluster.rehearse(PODS, executor_pod(job, seen.driver.incarnation))
        except InvalidSpec as error:
            message = "; ".join(problem.remedy for problem in error.problems)
            since = before.since if before is not None else self._clock.now()
            return Refusal(message=message, since=since)
        except SluiceError as error:
            log.info("cannot ask what keeps executors of %s from being made: %s", job.key, error)
            return before
        return None


def _lacks_pods(seen: Observed) -> bool:
    driver, report = seen.driver, seen.report
    if driver is None or not driver.is_up or report is None or report.phase != "running":
        return False
    return report.target is not None and seen.executors_running + len(seen.waiting) < report.target
