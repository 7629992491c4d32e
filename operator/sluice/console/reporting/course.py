"""What is reported of a job over a time: made from answers of Prometheus, the job's status and its decisions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.console.decisions import Kept, Unreadable
from sluice.console.history import History
from sluice.console.job import Job
from sluice.console.reporting import asking, declared, happenings
from sluice.console.reporting.curves import Curve, curve, tagged
from sluice.console.reporting.happenings import Profile, Recoveries, Rescale
from sluice.core.series import Slices
from sluice.ports import Labelled

Answers = Mapping[str, Sequence[Labelled]]
"""What Prometheus answered, by the names of the questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Rows per second, executors, seconds of latency, rows of lag.

    The forecast is at the moments of which it speaks; the capacity is that of the executors wanted.
    """

    arriving: Curve
    forecast: Curve
    capacity: Curve
    wanted: Curve
    running: Curve
    wished: Curve
    latency: Curve
    lag: Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Minutes:
    """The share of good ones among those that are known, and the share that is known."""

    good: float
    known: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A job and what it went through until now; `changes` are the decisions of it that changed its executors."""

    job: Job
    slices: Slices
    curves: Curves
    recoveries: Recoveries
    rescales: Sequence[Rescale] = ()
    profiles: Sequence[Profile] = ()
    changes: Sequence[Kept] = ()
    unreadable: int = 0
    minutes: Minutes | None = None

    @property
    def start(self) -> datetime:
        """The first moment."""
        return self.slices.start

    @property
    def now(self) -> datetime:
        """The last moment."""
        return self.slices.end - self.slices.step

    @property
    def span(self) -> timedelta:
        """From the first to the last."""
        return self.now - self.start

    @property
    def target(self) -> float | None:
        """Seconds that a recovery may take."""
        return declared.recovery_target(self.job.spec)


def course(past: History, slices: Slices, answers: Answers) -> Course:
    """Read what was asked for by `asking`."""
    job, questions = past.job, asking.questions(past.job, slices)
    known = {name: curve(answers[name], one.slices) for name, one in questions.items()}
    several = {name: tagged(answers[name], slices) for name in ("lasting", "rescales", "profiles")}
    kept = [one for one in past.decisions if isinstance(one, Kept)]
    changes = happenings.changed(kept)
    return Course(
        job=job,
        slices=slices,
        curves=Curves(
            forecast=known["forecast"].later(declared.ahead(job.spec)),
            **{name: known[name] for name in _AS_THEY_ARE},
        ),
        recoveries=happenings.recoveries(
            job.part("recoveries"), known["recoveries"], several["lasting"]
        ),
        rescales=happenings.rescales(changes, several["rescales"], slices.start),
        profiles=happenings.profiles(several["profiles"]),
        changes=tuple(one for one in changes if one.at >= slices.start),
        unreadable=sum(isinstance(one, Unreadable) for one in past.decisions),
        minutes=_minutes(answers, slices),
    )


_AS_THEY_ARE = ("arriving", "capacity", "wanted", "running", "wished", "latency", "lag")


def is_any_known(answers: Answers) -> bool:
    """Whether Prometheus knows anything at all of the job."""
    return any(answers.values())


def _minutes(answers: Answers, slices: Slices) -> Minutes | None:
    good, counted = _number(answers.get("good", ())), _number(answers.get("counted", ()))
    if good is None or counted is None:
        return None
    all_of_them = (slices.count - 1) * slices.step / timedelta(minutes=1)
    return Minutes(good=good, known=min(1.0, counted / all_of_them))


def _number(answer: Iterable[Labelled]) -> float | None:
    return next((one.samples[-1][1] for one in answer), None)
