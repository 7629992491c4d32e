"""A rescale that made things worse, as it is remembered: under which load, and for how long.

A shrink that did harm does so under more load, too; a growth says nothing of another load.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sluice.core.modelling.stored import Data
from sluice.core.series import Measured, NoData

REMEMBERED = 6 * 3600.0
"""Seconds: by then the job or its neighbours may have changed."""

ALIKE = 0.8
"""A load from that share of another one upwards is as bad for a job that is too small; up to its inverse, alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """A harmful rescale, and the decision that made it.

    `at` is when it was found, in seconds since 1970; `before` and `executors` are the numbers before and after it;
    `arrival` is the load that it did harm under, in rows per second. `undone` says that the job has left that number.
    """

    at: float
    decision: str
    before: int
    executors: int
    arrival: float
    reason: str
    undone: bool = False

    @property
    def grew(self) -> bool:
        """Whether executors were added."""
        return self.executors > self.before

    def applies(self, arrival: Measured) -> bool:
        """Whether it would do harm under a load, in rows per second; nobody knows that of an unknown one."""
        if isinstance(arrival, NoData):
            return False
        return arrival >= ALIKE * self.arrival and not (
            self.grew and ALIKE * arrival > self.arrival
        )

    def is_remembered(self, at: float) -> bool:
        """Whether it still counts at a moment, in seconds since 1970."""
        return at - self.at < REMEMBERED

    def to_data(self) -> Data:
        """Plain data for `harm_from_data`."""
        return asdict(self)


def harm_from_data(stored: Mapping[str, Any]) -> Harm:
    """Read what `Harm.to_data` wrote."""
    return Harm(
        at=float(stored["at"]),
        decision=str(stored["decision"]),
        before=int(stored["before"]),
        executors=int(stored["executors"]),
        arrival=float(stored["arrival"]),
        reason=str(stored["reason"]),
        undone=bool(stored["undone"]),
    )
