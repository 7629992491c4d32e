"""An hour of a scaled job as Prometheus, the status and the decisions tell it: load that rises, failures, rescales.

Its driver is lost twice, once by a drill and once for longer than the target; it grows twice live, shrinks once by a
restart, and is profiled meanwhile.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sluice.console.decisions import Kept
from sluice.console.history import History
from sluice.console.job import Job
from sluice.console.reporting import asking
from sluice.console.reporting.course import Course, course
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.judging import Outcome, Verdict
from sluice.core.deciding.policies.static import Static
from sluice.core.deciding.storing import Record
from sluice.core.modelling.rescaling import Path
from sluice.core.series import Slices
from sluice.ports import Labelled
from tests.console import resources
from tests.console.notebooks import situation
from tests.support.jobs import NOW

Json = dict[str, Any]
Numbers = Callable[[float], float | None]
"""A number at a minute from the beginning; None is a gap."""

HOUR = timedelta(hours=1)
START = NOW - HOUR
PER_EXECUTOR = 11_500.0
TARGET = 90.0


def minute(number: float) -> datetime:
    """A moment of the hour."""
    return START + timedelta(minutes=number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A time without a driver: when it began in minutes, what it was, and the seconds of its stages."""

    began: float
    cause: str
    first_batch: float
    caught_up: float
    drilled: int = 0

    @property
    def told(self) -> Json:
        """As the status has it."""
        drill = {"drilled": self.drilled} if self.drilled else {}
        return {
            "cause": self.cause,
            "incarnation": 3,
            "began": minute(self.began).isoformat(),
            "firstBatch": self.first_batch,
            "caughtUp": self.caught_up,
            **drill,
        }


AWAY = (
    Away(began=22, cause="DriverLoss", first_batch=24.0, caught_up=48.2, drilled=2),
    Away(began=38.5, cause="DriverLoss", first_batch=61.0, caught_up=112.7),
    Away(began=51, cause="Rescale", first_batch=19.5, caught_up=31.4),
)
STAIRS = ((-math.inf, 4), (12.0, 6), (31.0, 8), (51.0, 6))
"""Executors wanted from a minute on."""


def load(at: float) -> float:
    """Rows that arrive per second, with a little noise that is always the same."""
    wave = 52_000 + 26_000 * math.sin((at - 14) / 60 * 2 * math.pi)
    return wave + 1_800 * math.sin(at * 7.1) + 900 * math.sin(at * 23.7)


def executors(at: float) -> int:
    """How many are wanted."""
    return [number for begins, number in STAIRS if begins <= at][-1]


def is_down(at: float) -> bool:
    """Whether no driver commits."""
    return any(one.began <= at < one.began + one.first_batch / 60 for one in AWAY)


def behind(at: float) -> float:
    """Seconds of load that wait because of an absence."""
    for one in AWAY:
        up, over = one.began + one.first_batch / 60, one.began + one.caught_up / 60
        if up <= at < over:
            return one.first_batch * (over - at) / (over - up)
    return 0.0


def _while_up(numbers: Numbers) -> Numbers:
    return lambda at: None if is_down(at) else numbers(at)


def _latency(at: float) -> float:
    return (
        2.1 + 0.9 * load(at) / (PER_EXECUTOR * executors(at)) + behind(at) + 0.3 * math.sin(at * 5)
    )


def _running(at: float) -> float:
    return 0.0 if is_down(at) else float(executors(at - 0.5))


COURSES: Mapping[str, Numbers] = {
    "arriving": _while_up(load),
    "latency": _while_up(_latency),
    "lag": _while_up(lambda at: load(at) * (1.5 + behind(at))),
    "capacity": lambda at: PER_EXECUTOR * executors(at) * (0.96 + 0.02 * math.sin(at / 9)),
    "forecast": lambda at: load(at + 5) * (1.02 + 0.05 * math.sin(at / 6)),
    "wanted": lambda at: float(executors(at)),
    "running": _running,
    "wished": lambda at: float(executors(at + 2)),
    "recoveries": lambda at: float(sum(one.began + one.caught_up / 60 < at for one in AWAY)),
}


def samples(numbers: Numbers, slices: Slices) -> tuple[tuple[datetime, float], ...]:
    """The numbers that are known."""
    moments = (slices.start + index * slices.step for index in range(slices.count))
    found = ((at, numbers((at - START) / timedelta(minutes=1))) for at in moments)
    return tuple((at, value) for at, value in found if value is not None)


def labelled(numbers: Numbers, slices: Slices, **labels: str) -> list[Labelled]:
    """An answer with one series; with none, if nothing is known."""
    known = samples(numbers, slices)
    return [Labelled(labels=labels, samples=known)] if known else []


def body(**changes: Any) -> Json:
    """The StreamJob; keyword arguments replace parts of its status."""
    usual = {
        "recoveries": {"count": 3, "past": [one.told for one in AWAY]},
        "slo": {"attainment": 0.9934, "budgetLeft": 0.34, "unknown": 0.01},
    }
    found = resources.healthy(**{**usual, **changes})
    declared = {
        "slo": {**resources.SLO, "latency": {"percentile": 0.95, "bound": "10s"}},
        "scaling": {"mode": "Auto", "horizon": "15m"},
        "recovery": {"target": f"{TARGET:.0f}s"},
    }
    return {**found, "spec": {**found["spec"], **declared}}


def kept(at: datetime, former: int, executors: int, **changes: Any) -> Kept:
    """A decision from one number of executors to another."""
    verdict = changes.pop("verdict", Verdict(Outcome.GOOD, "as expected"))
    made = Decision(
        wanted=executors,
        executors=executors,
        reason=f"{executors} executors keep the bound of 10.0 s at what is foreseen",
        path=Path.LIVE,
        expected_latency=3.1,
    )
    record = Record(
        situation=situation(at, former), policy=Static(executors=executors), settings=Settings()
    )
    decision = replace(made, **changes)
    return Kept(id=f"{at:%Y%m%dT%H%M%SZ}", record=record, decision=decision, verdict=verdict)


def decisions() -> tuple[Kept, ...]:
    """The rescales of the hour, and the newest decision, which changes nothing."""
    return (
        kept(minute(12), 4, 6),
        kept(minute(31), 6, 8),
        kept(minute(51), 8, 6, path=Path.RESTART, verdict=None),
        kept(minute(59), 6, 6),
    )


def past(job: Json | None = None, *others: Kept) -> History:
    """The job and its decisions, by default those of the hour."""
    return History(job=Job(job or body()), decisions=others or decisions())


def answers(job: Job, slices: Slices, **changes: Any) -> dict[str, list[Labelled]]:
    """What Prometheus tells; keyword arguments are other numbers, or whole answers."""
    asked = asking.questions(job, slices)
    known: dict[str, Any] = {
        **COURSES,
        "profiles": labelled(lambda at: at if 5 <= at < 17 else None, slices, profile="clicks-1"),
        "good": labelled(lambda _: 0.967, slices),
        "counted": labelled(lambda _: 60.0, slices),
        **changes,
    }
    over = {name: one.slices for name, one in asked.items()}
    return {
        name: labelled(one, over.get(name, slices)) if callable(one) else one
        for name, one in {"lasting": [], "rescales": [], **known}.items()
    }


def slices(since: timedelta = HOUR, created: datetime = NOW - timedelta(days=3)) -> Slices:
    """Those up to NOW."""
    return asking.slices_until(NOW, since, created)


def told(history: History | None = None, **changes: Any) -> Course:
    """The hour; keyword arguments are other numbers, or whole answers."""
    found, over = history or past(), slices()
    return course(found, over, answers(found.job, over, **changes))
