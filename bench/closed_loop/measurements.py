"""All that is kept of one run on the cluster, so that its figures can be made again without another run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from bench.closed_loop import figures
from bench.closed_loop.courses import Course, DriverCourse, packed, unpacked
from bench.closed_loop.figures import Figures, Profiled, Struck
from bench.closed_loop.scene import DRIVER_KILLED, Scene

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """The CPU of executors by the metrics API: when, how many there were, and millicores of each on average."""

    at: float
    executors: int
    millicores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A recovery as the status tells it; seconds since it began."""

    cause: str
    began: float
    first_batch: float | None
    caught_up: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The checker's: rows that a right job writes, those that lack, and those that came twice."""

    expected: int
    lost: int
    duplicated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A run. `saturated` are the millicores of an executor with a backlog, `aim` those that the autoscaler got."""

    contender: str
    taken: str
    versions: Mapping[str, str]
    course: Course
    struck: tuple[Struck, ...]
    account: Account
    restarts: int
    aways: tuple[Away, ...] = ()
    cpu: tuple[Cpu, ...] = ()
    saturated: float | None = None
    aim: float | None = None
    profile: Profiled | None = None

    def away(self, fault: Struck) -> Away | None:
        """What the status tells of a failure; it began when the driver ended, or was seen to have."""
        after = (
            one for one in self.aways if one.cause in _DRIVER and abs(one.began - fault.at) < 60
        )
        return next(after, None) if fault.fault == DRIVER_KILLED else None


_DRIVER = frozenset(("DriverLoss", "NodeLoss"))


def figures_of(measured: Measurement, scene: Scene) -> Figures:
    """What is told of it."""
    return figures.told(
        measured.course,
        scene,
        measured.struck,
        restarts=measured.restarts,
        profile=measured.profile,
    )


def to_data(measured: Measurement) -> Json:
    """Plain data for `from_data`: samples as lines of text."""
    told = {field.name: getattr(measured, field.name) for field in fields(measured)}
    plain = {
        name: [asdict(one) for one in told[name]] if isinstance(told[name], tuple) else told[name]
        for name in told
    }
    return {
        **plain,
        "versions": dict(measured.versions),
        "account": asdict(measured.account),
        "profile": asdict(measured.profile) if measured.profile is not None else None,
        "course": _course_data(measured.course),
    }


def _course_data(course: Course) -> Json:
    return {
        "start": course.start,
        "step": course.step,
        "wanted": packed(course.wanted),
        "running": packed(course.running),
        "drivers": [
            {field.name: packed(getattr(driver, field.name)) for field in fields(driver)}
            for driver in course.drivers
        ],
    }


def from_data(stored: Mapping[str, Any]) -> Measurement:
    """Read what `to_data` wrote. Raises KeyError, TypeError or ValueError."""
    profile = stored["profile"]
    return Measurement(
        contender=stored["contender"],
        taken=stored["taken"],
        versions=stored["versions"],
        course=_course(stored["course"]),
        struck=_all(Struck, stored["struck"]),
        account=Account(**stored["account"]),
        restarts=stored["restarts"],
        aways=_all(Away, stored["aways"]),
        cpu=_all(Cpu, stored["cpu"]),
        saturated=stored["saturated"],
        aim=stored["aim"],
        profile=profile and Profiled(**{**profile, "points": _pairs(profile["points"])}),
    )


def _all(kind: Any, stored: Sequence[Mapping[str, Any]]) -> Any:
    return tuple(kind(**one) for one in stored)


def _pairs(stored: Sequence[Sequence[float]]) -> tuple[tuple[int, float], ...]:
    return tuple((int(executors), float(rate)) for executors, rate in stored)


def _course(stored: Mapping[str, Any]) -> Course:
    return Course(
        start=stored["start"],
        step=stored["step"],
        wanted=unpacked(stored["wanted"]),
        running=unpacked(stored["running"]),
        drivers=tuple(
            DriverCourse(**{name: unpacked(text) for name, text in driver.items()})
            for driver in stored["drivers"]
        ),
    )
