"""Failures on purpose: what may be killed and when, and how a drill is asked for and answered.

A drill is asked for by an annotation, `driver@MOMENT` or `executor/POD@MOMENT`, and answered in the status before
anything is killed. So the operator knows that what comes is no failure of the job, and who kills knows that an operator
watches. The killing itself is done with the rights of the person, by `kubectl sluice drill`.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.core.windows import Window

ANNOTATION = "sluice.dev/drill"

VALID = timedelta(minutes=10)
"""A drill that has killed nothing so long after it was asked for kills nothing any more."""

CLOCKS_APART = timedelta(minutes=1)
"""How far the clock of who asks may be ahead of the operator's."""

_FORM = re.compile(r"(?P<victim>driver|executor)(/(?P<pod>[a-z0-9.-]{1,253}))?@(?P<at>\S{1,40})")
LONGEST = 320
"""Characters that a drill may have; what is longer is none, and is told no further than that."""

_REMEDY = "write driver@MOMENT or executor/POD@MOMENT, or use kubectl sluice drill"


class Victim(StrEnum):
    """What is killed."""

    EXECUTOR = "Executor"
    DRIVER = "Driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drills:
    """What the owner of a job lets be killed, and in which windows; no window is any time."""

    allowed: frozenset[Victim] = frozenset()
    windows: tuple[Window, ...] = ()

    def why_not(self, victim: Victim, now: datetime) -> str | None:
        """Why it may not be killed at a moment, as a sentence with the remedy; None if it may."""
        if victim not in self.allowed:
            return (
                f"spec.recovery.drills.allowed does not name {victim}: nobody has agreed that it is killed. "
                f"Add {victim} to allow it"
            )
        if not self.windows or any(window.covers(now.timestamp()) for window in self.windows):
            return None
        opens = min(window.opens_after(now) for window in self.windows)
        return (
            f"{now:%H:%M} UTC is in no window of spec.recovery.drills.windows; "
            f"the next begins at {opens:%a %Y-%m-%d %H:%M} UTC"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """A drill that is asked for: what is to be killed, since when; of executors, which pod."""

    victim: Victim
    at: datetime
    pod: str = ""

    def __str__(self) -> str:
        """As the annotation has it."""
        moment = self.at.isoformat().replace("+00:00", "Z")
        place = f"/{self.pod}" if self.victim is Victim.EXECUTOR else ""
        return f"{self.victim.lower()}{place}@{moment}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the operator says to an annotation: why it refuses, or nothing; `done` when it has seen the loss."""

    asked: str
    refusal: str = ""
    done: bool = False


def read_drill(text: str) -> Drill:
    """Read an annotation. Raises ValueError, with the remedy, for anything else."""
    found = _FORM.fullmatch(text)
    if found is None or (found["victim"] == "executor") != bool(found["pod"]):
        raise ValueError(f"{ANNOTATION}: {text!r} is no drill; {_REMEDY}")
    try:
        at = datetime.fromisoformat(found["at"])
    except ValueError as error:
        raise ValueError(f"{ANNOTATION}: {text!r} has no moment; {_REMEDY}") from error
    if at.tzinfo is None:
        raise ValueError(
            f"{ANNOTATION}: {text!r} has a moment without a time zone; add Z if it is UTC"
        )
    return Drill(victim=Victim(found["victim"].title()), at=at, pod=found["pod"] or "")
