"""The course of a job that was decided about: a test names only what it is about."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sluice.core.chosen import Decided
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.situation import Bounds
from sluice.core.foreseen import Band, Foreseen
from sluice.core.learning.foreseeing import Forecaster
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import Watcher
from sluice.manifests.notebook import Notebook
from sluice.services.courses import Course
from tests.support.jobs import NOW

FORESEEN = Foreseen(
    load=Band(rate=900.0, low=800.0, high=1000.0),
    capacity=Band(rate=2000.0, low=1800.0, high=2200.0),
)


def course(uid: str = "uid-of-clicks", executors: int = 2) -> Course:
    """A course that begins now."""
    watcher = Watcher(terms=Terms(bounds=Bounds(smallest=1, largest=8)), executors=executors)
    return Course(uid=uid, watcher=watcher, forecaster=Forecaster(), notebook=Notebook())


def decided(before: int, executors: int, *, minutes: float = 0, **changes: Any) -> Decided:
    """A decision, so many minutes from now."""
    decision = Decision(wanted=executors, executors=executors, reason="because")
    at = NOW + timedelta(minutes=minutes)
    return Decided(
        id=f"{at:%Y%m%dT%H%M%SZ}",
        at=at,
        before=before,
        incarnation=1,
        decision=replace(decision, **changes),
    )
