"""What the product tells at one moment, by StreamJob, StreamProfile, Events and Prometheus; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from demo.names import JOB, PROFILE
from demo.numbers import Numbers
from demo.words import printable, seconds_of

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the StreamJob declares; durations are texts of the spec."""

    interval: str
    horizon: str
    bound: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The last change of the number of executors: the decision's id, the number, and the way (Live or Restart)."""

    decision: str
    executors: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """When it began, as the status has it, and its stages in seconds since then."""

    began: str
    stages: Mapping[str, float]

    @property
    def seconds(self) -> float | None:
        """Until the job had caught up; None while it has not."""
        return self.stages.get("caughtUp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Its phase, and rows per second by executors."""

    phase: str = ""
    points: tuple[tuple[int, float], ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing more is measured."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An Event of the StreamJob or of the StreamProfile."""

    uid: str
    moment: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look, so many seconds after the story began. Rates are rows per second, times seconds; None is not known.

    `decision` is the reason of the newest decision, `predicted` the likely recovery from a driver that is lost now,
    `planned` the one at worst that the decision plans with.
    """

    at: float
    phase: str = ""
    is_ready: bool = False
    incarnation: int = 0
    wanted: int = 0
    running: int = 0
    arriving: float | None = None
    latency_p50: float | None = None
    latency_p95: float | None = None
    lag_rows: float | None = None
    decision: str = ""
    predicted: float | None = None
    planned: float | None = None
    chosen: Chosen | None = None
    recovering: Recovery | None = None
    recovered: tuple[Recovery, ...] = ()
    profile: Profile = field(default_factory=Profile)
    numbers: Numbers = field(default_factory=Numbers)
    events: tuple[Event, ...] = ()

    @property
    def is_calm(self) -> bool:
        """Whether the job runs with all its executors, and nothing is done to it."""
        staffed = self.running == self.wanted > 0
        return self.is_ready and staffed and self.recovering is None


def read(objects: Iterable[Json], numbers: Numbers, at: float) -> Look:
    """Read the objects of the demo's namespace."""
    listed = list(objects)
    job = _named(listed, "StreamJob", JOB).get("status", {})
    stream, decision, executors = (
        job.get(part, {}) for part in ("stream", "decision", "executors")
    )
    recoveries = job.get("recoveries", {})
    conditions = {one["type"]: one["status"] for one in job.get("conditions", ())}
    return Look(
        at=at,
        phase=job.get("phase", ""),
        is_ready=conditions.get("Ready") == "True",
        incarnation=job.get("incarnation", 0),
        wanted=executors.get("wanted", 0),
        running=executors.get("running", 0),
        arriving=stream.get("arrivalRate"),
        latency_p50=stream.get("latencyP50"),
        latency_p95=stream.get("latencyP95"),
        lag_rows=stream.get("lagRows"),
        decision=printable(decision.get("reason", "")),
        predicted=decision.get("likelyRecovery"),
        planned=decision.get("expectedRecovery"),
        chosen=_chosen(job.get("chosen")),
        recovering=_recovery(recoveries["present"]) if "present" in recoveries else None,
        recovered=tuple(_recovery(one) for one in recoveries.get("past", ())),
        profile=_profile(_named(listed, "StreamProfile", PROFILE).get("status", {})),
        numbers=numbers,
        events=tuple(sorted(_events(listed), key=lambda event: event.moment)),
    )


def running_pod(objects: Iterable[Json], app: str) -> str:
    """The name of the pod that runs an app of the demo's; empty if there is none."""
    for one in objects:
        is_of_app = one["metadata"].get("labels", {}).get("app") == app
        if one["kind"] == "Pod" and is_of_app and one.get("status", {}).get("phase") == "Running":
            return str(one["metadata"]["name"])
    return ""


def promised(job: Json) -> Promise:
    """What a StreamJob declares; the API server has filled in the defaults."""
    spec = job["spec"]
    return Promise(
        interval=spec["scaling"]["interval"],
        horizon=spec["scaling"]["horizon"],
        bound=spec["slo"]["latency"]["bound"],
        target=spec["recovery"]["target"],
    )


def bound_of(promise: Promise) -> float:
    """The latency's bound in seconds."""
    return seconds_of(promise.bound)


def _named(objects: Iterable[Json], kind: str, name: str) -> Json:
    found = (one for one in objects if one["kind"] == kind and one["metadata"]["name"] == name)
    return next(found, {})


def _chosen(told: Json | None) -> Chosen | None:
    if not told:
        return None
    return Chosen(
        decision=told.get("decision", ""),
        executors=told["executors"],
        path=told.get("path", ""),
    )


_NO_STAGES = ("cause", "incarnation", "drilled", "began")


def _recovery(told: Json) -> Recovery:
    stages = {name: seconds for name, seconds in told.items() if name not in _NO_STAGES}
    return Recovery(began=told["began"], stages=stages)


def _profile(status: Json) -> Profile:
    points = ((one["executors"], one["rowsPerSecond"]) for one in status.get("points", ()))
    return Profile(phase=status.get("phase", ""), points=tuple(sorted(points)))


def _events(objects: Iterable[Json]) -> Iterable[Event]:
    for one in objects:
        about = one.get("involvedObject", {})
        if (about.get("kind"), about.get("name")) in (
            ("StreamJob", JOB),
            ("StreamProfile", PROFILE),
        ):
            yield Event(
                uid=one["metadata"]["uid"],
                moment=one["metadata"]["creationTimestamp"],
                reason=one["reason"],
                message=printable(one["message"]),
            )
