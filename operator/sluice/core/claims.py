"""Which job may use which checkpoint, in the whole cluster.

Spark does not notice two drivers on one checkpoint until rows were delivered twice, so a place belongs to one
job: to the one that has started on it, else to the oldest that declares it. A place inside or around another
one is the same place.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sluice.core.application import JobKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """A job and the location that it wants (`has_started` false) or holds (true)."""

    key: JobKey
    uid: str
    location: str
    has_started: bool
    created: datetime

    @property
    def rank(self) -> tuple[bool, datetime, str]:
        """Who comes first: those that have started, then the oldest."""
        return (not self.has_started, self.created, self.uid)


class Claims:
    """An index of claimants by location. A look-up costs as much as a location has parts."""

    def __init__(self) -> None:
        self._claimants: dict[str, Claimant] = {}
        self._at: dict[str, set[str]] = defaultdict(set)
        self._at_or_below: dict[str, set[str]] = defaultdict(set)

    def put(self, claimant: Claimant) -> None:
        """Enter a claimant, in place of what was known of its uid."""
        self.remove(claimant.uid)
        self._claimants[claimant.uid] = claimant
        self._at[claimant.location].add(claimant.uid)
        for place in _and_above(claimant.location):
            self._at_or_below[place].add(claimant.uid)

    def remove(self, uid: str) -> None:
        """Forget a claimant, if it is known."""
        claimant = self._claimants.pop(uid, None)
        if claimant is None:
            return
        _discard(self._at, claimant.location, uid)
        for place in _and_above(claimant.location):
            _discard(self._at_or_below, place, uid)

    def holder(self, claimant: Claimant) -> JobKey | None:
        """The other job that comes first at the claimant's location, or at one inside or around it."""
        rivals = [self._claimants[uid] for uid in self._overlapping(claimant.location)]
        first = min(
            (rival for rival in rivals if rival.uid != claimant.uid), key=_rank, default=None
        )
        if first is None or _rank(claimant) < _rank(first):
            return None
        return first.key

    def rivals(self, location: str) -> set[JobKey]:
        """All jobs with a claim at, inside or around a location."""
        return {self._claimants[uid].key for uid in self._overlapping(location)}

    def _overlapping(self, location: str) -> set[str]:
        found = set(self._at_or_below.get(location, ()))
        for place in _and_above(location):
            found |= self._at.get(place, set())
        return found


def _rank(claimant: Claimant) -> tuple[bool, datetime, str]:
    return claimant.rank


def _and_above(location: str) -> Iterator[str]:
    """The location and all places around it: "a/b/c", "a/b", "a"."""
    while location:
        yield location
        location = location.rpartition("/")[0]


def _discard(index: dict[str, set[str]], place: str, uid: str) -> None:
    index[place].discard(uid)
    if not index[place]:
        del index[place]
