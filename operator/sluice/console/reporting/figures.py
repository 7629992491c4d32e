"""What a report comes to, in a few numbers: the objective, what was used for it, recoveries and rescales."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from sluice.console import words
from sluice.console.reporting.course import Course
from sluice.console.reporting.phrases import lasting
from sluice.console.slo import promise

WORTH_TELLING = 0.02
"""A share of the time that is unknown."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, what it is, and in a line each what it is to be compared with, and what is not known of it."""

    name: str
    value: str
    details: tuple[str, ...] = ()


def figures(course: Course) -> tuple[Figure, ...]:
    """Those of the head."""
    return (
        _attainment(course),
        _budget(course),
        _executor_hours(course),
        _recoveries(course),
        _rescales(course),
    )


def _attainment(course: Course) -> Figure:
    name, minutes, slo = "Attainment", course.minutes, course.job.spec.get("slo") or {}
    if not promise(course.job.spec):
        return Figure(name, words.NOTHING, ("no objective is declared",))
    promised = f"objective {words.percent(slo.get('objective', 0.99))}"
    if minutes is None:
        return Figure(name, words.NOTHING, (promised, "not measured"))
    return Figure(name, words.percent(minutes.good), (promised, *_unknown(1 - minutes.known)))


def _budget(course: Course) -> Figure:
    slo = course.job.spec.get("slo") or {}
    window = (f"of {slo.get('window', '28d')}",) if promise(course.job.spec) else ()
    left = course.job.part("slo").get("budgetLeft")
    return Figure("Error budget left", words.percent(left), window)


def _executor_hours(course: Course) -> Figure:
    """Each number counts until the next; the last one, of now, not at all."""
    known = [value for value in course.curves.running.values[:-1] if value is not None]
    if not known:
        return Figure("Executor-hours", words.NOTHING, ("not measured",))
    hours = sum(known) * (course.slices.step / timedelta(hours=1))
    mean = f"{sum(known) / len(known):.1f} running on average"
    lack = 1 - len(known) / (course.slices.count - 1)
    return Figure("Executor-hours", f"{hours:,.1f}", (mean, *_unknown(lack)))


def _recoveries(course: Course) -> Figure:
    failures = [one for one in course.recoveries.found if one.is_failure]
    verdicts = Counter(one.is_within(course.target, course.now) for one in failures)
    under_way = sum(one.goes_on for one in failures)
    going_on = (f"{under_way} under way",) if under_way else ()
    if course.target is None:
        return Figure("Recoveries", str(len(failures)), ("no target is declared", *going_on))
    value = f"{verdicts[True]} of {verdicts[True] + verdicts[False]}" if failures else "no failure"
    target = f"target {lasting(course.target)}"
    return Figure("Recoveries within target", value, (target, *going_on))


def _rescales(course: Course) -> Figure:
    ways = Counter(one.path for one in course.rescales)
    told = ", ".join(f"{count} {_WAYS.get(way, way)}" for way, count in sorted(ways.items()))
    return Figure("Rescales", str(len(course.rescales)), (told,) if told else ())


_WAYS = {"Live": "live", "Restart": "by restart"}


def _unknown(share: float) -> tuple[str, ...]:
    if share < WORTH_TELLING:
        return ()
    return (f"{words.percent(round(share, 2))} of the time unknown",)
