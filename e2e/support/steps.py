"""Steps of what goes on in the cluster: which of them show in what was seen so far, and what became of the operator
and of the job's records.

Nothing here asks the cluster; `killing` does.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.report import Figure
from e2e.support.api import Json

LEASE = "sluice-operator"
"""What the operator that acts holds, in its namespace."""

Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""

_HEAD = (
    "| step | shown after | operator killed after | the next one leads after |\n|---|---|---|---|"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An object as it is now, or as it was when it went."""

    kind: str
    body: Json
    is_gone: bool = False

    @property
    def key(self) -> Key:
        """Whom it is about."""
        metadata = self.body["metadata"]
        return self.kind, metadata["namespace"], metadata["name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The objects that are there, as they were last seen, and the uids of all that ever were."""

    there: Mapping[Key, Json] = field(default_factory=dict)
    ever: frozenset[tuple[Key, str]] = frozenset()

    def after(self, event: Event) -> "Sight":
        """With what has happened to an object."""
        there = {key: body for key, body in self.there.items() if key != event.key}
        if not event.is_gone:
            there[event.key] = event.body
        return Sight(there=there, ever=self.ever | {(event.key, event.body["metadata"]["uid"])})

    def of(self, kind: str, namespace: str, name: str) -> Json:
        """An object; empty if it is not there."""
        return self.there.get((kind, namespace, name), {})

    def all(self, kind: str, namespace: str, **labels: str) -> list[Json]:
        """All objects of a kind in a namespace that have these labels, by the last parts of their names."""
        return [
            body
            for (one, place, _), body in self.there.items()
            if (one, place) == (kind, namespace) and _has(body, labels)
        ]

    def is_leaving(self, kind: str, namespace: str, name: str) -> bool:
        """Whether an object that was there is being deleted, or is gone."""
        if body := self.of(kind, namespace, name):
            return "deletionTimestamp" in body["metadata"]
        return self.count(kind, namespace, name) > 0

    def count(self, kind: str, namespace: str, name: str) -> int:
        """How many objects of that name there were so far, one after the other."""
        return sum(key == (kind, namespace, name) for key, _ in self.ever)

    def leader(self, home: str) -> Json:
        """The pod of the operator that may act, in the operator's namespace; empty if it is not there."""
        lease = self.of("Lease", home, LEASE)
        holder = (lease.get("spec") or {}).get("holderIdentity", "")
        pod = self.of("Pod", home, holder)
        return {} if self.is_leaving("Pod", home, holder) else pod


def _has(body: Json, labels: Mapping[str, str]) -> bool:
    told = {
        name.rpartition("/")[2]: value
        for name, value in (body["metadata"].get("labels") or {}).items()
    }
    return labels.items() <= told.items()


Reached = Callable[[Sight], object]
"""Whether something shows in what was seen: true or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that shows once it is reached. One that `may_be_missed` is sometimes over before anybody sees it."""

    name: str
    is_reached: Reached
    may_be_missed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A step, and when it showed first, in seconds since the beginning."""

    name: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """An operator killed at steps that showed since the kill before: several if one write told of them, or if they came
    while no operator led. Times are in seconds since the beginning; `led` is when another one led.
    """

    steps: tuple[Shown, ...]
    at: float
    led: float | None = None

    def __str__(self) -> str:
        return f"[{self.at:6.1f} s] operator killed: {'; '.join(step.name for step in self.steps)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """All kills of a drill, the steps that nobody saw, and the checker's account of the records."""

    kills: Sequence[Kill]
    missed: Sequence[str]
    account: Json

    def figures(self) -> list[Figure]:
        """What to tell of it; operators that nobody replaced have no time."""
        away = [kill.led - kill.at for kill in self.kills if kill.led is not None]
        return [
            Figure(name="operator killed", value=len(self.kills), unit=""),
            Figure(name="steps seen", value=sum(len(kill.steps) for kill in self.kills), unit=""),
            Figure(name="steps not seen", value=len(self.missed), unit=""),
            Figure(name="until another one leads, median", value=statistics.median(away), unit="s"),
            Figure(name="until another one leads, longest", value=max(away), unit="s"),
            Figure(name="records", value=self.account["expected"], unit=""),
            Figure(name="records lost", value=self.account["missing"], unit="", goal="<= 0"),
            Figure(name="records written twice", value=self.account["duplicates"], unit=""),
        ]

    def table(self) -> str:
        """Each step, and when."""
        return table(self.kills, self.missed)


def awaited(steps: Iterable[Step]) -> list[str]:
    """The names of steps that cannot be missed."""
    return [step.name for step in steps if not step.may_be_missed]


def table(kills: Sequence[Kill], missed: Iterable[str]) -> str:
    """One line for each step in Markdown, those that were not seen last; all times in seconds since the beginning."""
    lines = [_line(shown, kill) for kill in kills for shown in kill.steps]
    return "\n".join([_HEAD, *lines, *(f"| {name} | not seen |  |  |" for name in missed)])


def _line(shown: Shown, kill: Kill) -> str:
    led = "" if kill.led is None else f"{kill.led:.1f}"
    return f"| {shown.name} | {shown.at:.1f} | {kill.at:.1f} | {led} |"
