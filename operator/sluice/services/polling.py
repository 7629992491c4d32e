"""Ask the agents in running drivers how their streams do, and keep what they told.

Asking is apart from reconciling: an agent that does not answer holds nothing else up.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sluice.core.application import JobKey
from sluice.core.observations import AgentReport, DriverPod
from sluice.errors import AgentUnavailable
from sluice.manifests.children import agent_token
from sluice.ports import Agents, Clock
from sluice.services.fleet import Fleet
from sluice.services.workqueue import WorkQueue

OLDEST = timedelta(seconds=30)
"""A report older than this says nothing about now."""


LONG_SILENT = 6
"""Questions in a row without an answer, with pauses that grow to a minute, after which a report is older than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often agents are asked: every `interval` seconds, but all together at most `per_second`."""

    interval: float = 5.0
    per_second: float = 25.0
    longest_retry: float = 60.0

    def pause(self, jobs: int) -> float:
        """Seconds between two questions to the same agent."""
        return max(self.interval, jobs / self.per_second)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What is known of an agent that was `asked` for the first time then."""

    driver_uid: str
    asked: datetime
    report: AgentReport | None = None
    silence: str | None = None
    silent: int = 0

    @property
    def since(self) -> datetime:
        """When it was heard last; before that, when it could have been."""
        return self.asked if self.report is None else self.report.at


def _is_as_silent_as(answer: _Answer, before: _Answer) -> bool:
    """Whether nothing is new: it has been silent for so long that its last report is too old by now, too."""
    return answer.silent > LONG_SILENT and answer.silence == before.silence


class Poller:
    """The newest report of each job's agent; `told` is called when there is another one."""

    def __init__(
        self,
        fleet: Fleet,
        agents: Agents,
        clock: Clock,
        *,
        pace: Pace,
        told: Callable[[JobKey], None],
    ) -> None:
        self._fleet = fleet
        self._agents = agents
        self._clock = clock
        self._pace = pace
        self._told = told
        self._answers: dict[JobKey, _Answer] = {}
        self._key = b""
        self.queue: WorkQueue[JobKey] = WorkQueue(self._ask, fields=lambda key: key.fields)

    def use_key(self, key: bytes) -> None:
        """The operator's secret, from which the agents' tokens are derived."""
        self._key = key

    def report(self, key: JobKey, driver: DriverPod) -> tuple[AgentReport | None, str | None]:
        """The newest report of this driver's agent if it is fresh, and why not otherwise.

        Neither means that nothing is known yet: an agent has as long for its first answer as a report is fresh.
        """
        answer = self._answers.get(key)
        if answer is None or answer.driver_uid != driver.uid:
            self.queue.add(key)
            return None, None
        fresh = max(OLDEST, timedelta(seconds=3 * self._pace.pause(len(self._fleet))))
        if self._clock.now() - answer.since > fresh:
            return None, answer.silence
        return answer.report, None if answer.report is None else answer.silence

    def forget(self, key: JobKey) -> None:
        """Drop what is known of a job that is gone."""
        self._answers.pop(key, None)

    async def _ask(self, key: JobKey) -> float | None:
        driver = self._fleet.driver(key)
        if driver is None or not driver.is_up:
            self.forget(key)
            return None
        if driver.address is None:
            return self._pace.interval
        before = self._answers.get(key)
        if before is None or before.driver_uid != driver.uid:
            before = _Answer(driver_uid=driver.uid, asked=self._clock.now())
        answer = await self._answer(driver.address, driver, before)
        self._answers[key] = answer
        if not _is_as_silent_as(answer, before):
            self._told(key)
        pause = self._pace.pause(len(self._fleet))
        return max(pause, min(float(2**answer.silent), self._pace.longest_retry))

    async def _answer(self, address: str, driver: DriverPod, before: _Answer) -> _Answer:
        token = agent_token(driver.owner_uid, self._key)
        try:
            report = await self._agents.report(address, token)
        except AgentUnavailable as error:
            return replace(before, silence=str(error), silent=min(before.silent + 1, 10))
        if report.incarnation != driver.incarnation:
            told = f"it answers for incarnation {report.incarnation}"
            return replace(before, report=None, silence=told, silent=1)
        return replace(before, report=report, silence=None, silent=0)
