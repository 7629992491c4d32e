"""Whether an objective held: verdicts on slices of time, their tally, and what a gap counts as.

A slice without data is neither good nor bad. It is counted as unknown, and the declared policy says whether it
is left out of the attainment (the default), or taken for good or for bad. Its share is told in any case.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sluice.core.series import Measured, NoData


class Verdict(StrEnum):
    """What is known of a slice."""

    GOOD = "Good"
    BAD = "Bad"
    UNKNOWN = "Unknown"


class Gaps(StrEnum):
    """How unknown slices count."""

    UNKNOWN = "Unknown"
    """They are left out."""
    GOOD = "Good"
    BAD = "Bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many were good, bad and unknown: slices, or rows."""

    good: float = 0
    bad: float = 0
    unknown: float = 0

    def __post_init__(self) -> None:
        if min(self.good, self.bad, self.unknown) < 0:
            raise ValueError(f"{self}: no count can be negative")

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            good=self.good + other.good,
            bad=self.bad + other.bad,
            unknown=self.unknown + other.unknown,
        )

    @property
    def total(self) -> float:
        """All together."""
        return self.good + self.bad + self.unknown

    @property
    def unknown_share(self) -> float:
        """The share of the unknown; of nothing, nothing is known."""
        return self.unknown / self.total if self.total else 1.0

    def settled(self, gaps: Gaps) -> "Tally":
        """The same after the policy: what is left unknown does not count."""
        match gaps:
            case Gaps.GOOD:
                return Tally(good=self.good + self.unknown, bad=self.bad)
            case Gaps.BAD:
                return Tally(good=self.good, bad=self.bad + self.unknown)
            case Gaps.UNKNOWN:
                return self

    def attainment(self, gaps: Gaps = Gaps.UNKNOWN) -> Measured:
        """The share of the good among those that count."""
        settled = self.settled(gaps)
        counted = settled.good + settled.bad
        return settled.good / counted if counted else NoData("nothing is known of this window")


def tally(verdicts: Iterable[Verdict]) -> Tally:
    """Count verdicts."""
    counts = dict.fromkeys(Verdict, 0)
    for verdict in verdicts:
        counts[verdict] += 1
    return Tally(
        good=counts[Verdict.GOOD], bad=counts[Verdict.BAD], unknown=counts[Verdict.UNKNOWN]
    )


def counted(*, good: float, known: float, expected: float) -> Tally:
    """A tally from sums that a server made: what was expected and is not known is unknown."""
    # Slices that were measured twice, by two servers, do not make the window longer.
    return Tally(good=good, bad=max(0.0, known - good), unknown=max(0.0, expected - known))


def rolling(verdicts: Sequence[Verdict], length: int) -> tuple[Tally, ...]:
    """The tally of the last `length` slices at the end of each slice; fewer at the beginning."""
    if length < 1:
        raise ValueError(f"a window of {length} slices: it needs one at least")
    counts = dict.fromkeys(Verdict, 0)
    tallies = []
    for index, verdict in enumerate(verdicts):
        counts[verdict] += 1
        if index >= length:
            counts[verdicts[index - length]] -= 1
        tallies.append(
            Tally(
                good=counts[Verdict.GOOD],
                bad=counts[Verdict.BAD],
                unknown=counts[Verdict.UNKNOWN],
            )
        )
    return tuple(tallies)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict on several bounds: one that is broken breaks all, whatever is not known of the others."""
    found = set(verdicts)
    if Verdict.BAD in found:
        return Verdict.BAD
    return Verdict.GOOD if found == {Verdict.GOOD} else Verdict.UNKNOWN
