"""What is known of the effects of a job's rescales: the one that is awaited, and those that did harm.

tried     a decision has changed the number: its effect is awaited, and that of the one before never will be known
left      the number was changed otherwise: by an undo, which is not judged, or by a person
spoiled   something has happened that explains any effect
judged    what is observed when it has settled; harm is remembered
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sluice.core.deciding.harms import Harm, harm_from_data
from sluice.core.deciding.judging import Growth, Outcome, Reading, Trial, Verdict, judged
from sluice.core.modelling.stored import Data
from sluice.core.series import Measured, NoData


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision that rescaled, by its id, and what became of it."""

    decision: str
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The awaited effect, the harm that is remembered, the oldest first, and verdicts that nobody was told of yet."""

    trial: Trial | None = None
    harms: tuple[Harm, ...] = ()
    untold: tuple[Judged, ...] = ()

    def tried(self, trial: Trial | None) -> "Effects":
        """A decision changed the number of executors; None if its effect is not to be judged."""
        return replace(self.left(), trial=trial)

    def left(self) -> "Effects":
        """Another number of executors was asked for, so that what did harm is undone."""
        found = self._ended("another rescale followed before it had settled")
        return replace(found, harms=tuple(replace(harm, undone=True) for harm in found.harms))

    def spoiled(self, why: str, at: float) -> "Effects":
        """Something happened at a moment, in seconds since 1970, that explains whatever is observed after it."""
        return self if self.trial is None or at < self.trial.at else self._ended(why)

    def reconfigured(self, at: float) -> "Effects":
        """A job that was changed at a moment is another one: what did harm before says nothing of it."""
        found = self.spoiled("the job was changed", at)
        return replace(found, harms=tuple(harm for harm in self.harms if harm.at > at))

    def judged(
        self, now: Reading | NoData, at: float, *, settling: float, bound: float | None
    ) -> "Effects":
        """Judge what is awaited by what is observed at a moment, if it is time."""
        if self.trial is None:
            return self
        found = judged(self.trial, now, at, settling=settling, bound=bound)
        return self if found is None else self._with(self.trial, found, now, at)

    def told(self) -> "Effects":
        """All verdicts have been told."""
        return replace(self, untold=())

    def _ended(self, why: str) -> "Effects":
        if self.trial is None:
            return self
        verdict = Verdict(Outcome.INCONCLUSIVE, why)
        return replace(
            self, trial=None, untold=(*self.untold, Judged(self.trial.decision, verdict))
        )

    def _with(self, trial: Trial, verdict: Verdict, now: Reading | NoData, at: float) -> "Effects":
        untold = (*self.untold, Judged(trial.decision, verdict))
        found = replace(self, trial=None, untold=untold)
        if verdict.outcome is not Outcome.HARMFUL:
            return found
        assert isinstance(now, Reading)
        assert not isinstance(now.arrival, NoData)
        harm = Harm(
            at=at,
            decision=trial.decision,
            before=trial.former,
            executors=trial.executors,
            arrival=now.arrival,
            reason=verdict.reason,
        )
        known = (one for one in found.harms if one.is_remembered(at))
        return replace(found, harms=(*known, harm))

    def to_data(self) -> Data:
        """Plain data for `effects_from_data`; a verdict that was not told is lost with the operator."""
        return {
            "trial": None if self.trial is None else _trial_data(self.trial),
            "harms": [harm.to_data() for harm in self.harms],
        }


def effects_from_data(stored: Mapping[str, Any], executors: int) -> Effects:
    """Read what `Effects.to_data` wrote, of a job that has so many executors now.

    A rescale that was written down and never done is awaited no more.
    """
    trial = None if stored["trial"] is None else _trial(stored["trial"])
    if trial is not None and trial.executors != executors:
        trial = None
    return Effects(trial=trial, harms=tuple(map(harm_from_data, stored["harms"])))


def _trial_data(trial: Trial) -> Data:
    told = {field.name: getattr(trial, field.name) for field in fields(Trial)}
    before = trial.before
    growth = before.growth
    return told | {
        "before": {
            "arrival": _plain(before.arrival),
            "latency": _plain(before.latency),
            "growth": growth.reason if isinstance(growth, NoData) else [growth.low, growth.high],
        }
    }


def _trial(stored: Mapping[str, Any]) -> Trial:
    before = stored["before"]
    return Trial(
        at=float(stored["at"]),
        decision=str(stored["decision"]),
        former=int(stored["former"]),
        executors=int(stored["executors"]),
        before=Reading(
            arrival=_measured(before["arrival"]),
            latency=_measured(before["latency"]),
            growth=_growth(before["growth"]),
        ),
        expected_latency=_optional(stored["expected_latency"]),
        expected_capacity=_optional(stored["expected_capacity"]),
    )


def _growth(stored: Any) -> Growth | NoData:
    if isinstance(stored, str):
        return NoData(stored)
    low, high = stored
    return Growth(low=float(low), high=float(high))


def _plain(measured: Measured) -> float | str:
    return measured.reason if isinstance(measured, NoData) else measured


def _measured(stored: object) -> Measured:
    return NoData(stored) if isinstance(stored, str) else float(stored)  # type: ignore[arg-type]  # else CorruptState


def _optional(stored: object) -> float | None:
    return None if stored is None else float(stored)  # type: ignore[arg-type]  # else CorruptState
