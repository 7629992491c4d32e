"""Objects as the API server gives them, looks, and stories that go as they should."""

from dataclasses import replace
from typing import Any

from demo.looks import Chosen, Look, Profile, Promise, Recovery
from demo.names import JOB, PROFILE
from demo.numbers import Numbers
from demo.story import MINUTES, Story

PROMISE = Promise(interval="10s", horizon="3m", bound="15s", target="4m")

MEASURED = Profile(phase="Succeeded", points=((1, 118.0), (2, 231.0)))


def streamjob(**status: Any) -> dict[str, Any]:
    """A StreamJob with such a status."""
    return {"kind": "StreamJob", "metadata": {"name": JOB}, "status": status}


def streamprofile(**status: Any) -> dict[str, Any]:
    """The demo's StreamProfile with such a status."""
    return {"kind": "StreamProfile", "metadata": {"name": PROFILE}, "status": status}


def event(
    reason: str, message: str = "so it is", *, kind: str = "StreamJob", name: str = JOB, at: int = 0
) -> dict[str, Any]:
    """An Event, of the StreamJob unless another object is named."""
    stamp = f"2026-03-01T12:00:{at:02d}Z"
    return {
        "kind": "Event",
        "metadata": {"uid": f"{reason}-{at}", "name": "e", "creationTimestamp": stamp},
        "involvedObject": {"kind": kind, "name": name},
        "reason": reason,
        "message": message,
    }


def look(at: float, executors: int = 1, **changes: Any) -> Look:
    """A look at a job that is well, with so many executors."""
    well: dict[str, Any] = {
        "phase": "Running",
        "is_ready": True,
        "incarnation": 1,
        "wanted": executors,
        "running": executors,
        "arriving": 140.0,
        "latency_p50": 1.2,
        "latency_p95": 3.1,
        "lag_rows": 420.0,
        "predicted": 131.0,
        "numbers": Numbers(
            expected=190.0, expected_high=230.0, capacity=118.0 * executors, within=0.0, records=0.0
        ),
    }
    return Look(at=at, **{**well, **changes})


def chosen(decision: str, executors: int, path: str = "Live") -> Chosen:
    """A choice of so many executors."""
    return Chosen(decision=decision, executors=executors, path=path)


def recovery(began: str = "12:07:00", **stages: float) -> Recovery:
    """A recovery with such stages."""
    return Recovery(began=began, stages=stages)


def told(*looks: Look, limit: float = 720.0) -> Story:
    """A story of these looks."""
    story = Story(promise=PROMISE, limit=limit, looks=(looks[0],))
    for one in looks[1:]:
        story = story.with_look(one)
    return story


def grown(**last: Any) -> Story:
    """A story until just before the failure: measured, foreseen, grown to three executors."""
    known: dict[str, Any] = {"chosen": chosen("a", 3), "profile": MEASURED}
    story = told(look(0.0, numbers=Numbers()), look(150.0, profile=MEASURED)).with_scaling()
    for one in (
        look(250.0, **{**known, "wanted": 3}),
        look(290.0, 3, **known),
        look(last.pop("at", 430.0), 3, **{**known, **last}),
    ):
        story = story.with_look(one)
    return story


def recovered() -> Story:
    """The same with the failure, and the end of the recovery."""
    ended = recovery(detection=0.4, container=3.0, session=15.0, firstBatch=31.0, caughtUp=47.0)
    known: dict[str, Any] = {"chosen": chosen("a", 3), "profile": MEASURED, "incarnation": 2}
    return grown().with_failure().with_look(look(500.0, 3, **known, recovered=(ended,)))


def whole() -> Story:
    """A story in which all came in its time."""
    known: dict[str, Any] = {
        "chosen": chosen("b", 1),
        "profile": MEASURED,
        "incarnation": 2,
        "recovered": recovered().now.recovered,
        "numbers": Numbers(expected=60.0, capacity=118.0, within=98_000.0, records=100_000.0),
    }
    end = 60.0 * MINUTES
    story = replace(recovered(), limit=end).with_look(look(700.0, **known))
    return story.with_look(look(end + 5.0, **known))
