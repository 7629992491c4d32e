"""Exact accounts of a job's output against its input: what a right job must have written, and what is there; pure.

A job's output rows are taken as (identity, value). For numbered records the identity is the sequence number; for
windowed results it is (key, window start), and the value is the last word of the window, which later rows replace.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from jobs.load.events import Fields, campaign_of

Identity = int | tuple[str, int]
Value = str | int | float


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What is to be known of a demo job to check it."""

    identity: Callable[[Fields], Identity]
    value: Callable[[Fields], Value]
    expect: Callable[[Fields, int, "Expected"], None]
    """Take one input event, and the window in milliseconds, into what is expected."""
    windowed: bool
    """Rows of one identity then replace each other instead of being duplicates."""


Expected = dict[Identity, Value]


@dataclass(kw_only=True, slots=True)
class Observed:
    """The output rows so far, by identity."""

    windowed: bool
    values: dict[Identity, Value] = field(default_factory=dict)
    rows: int = 0
    duplicates: int = 0
    contradictions: set[Identity] = field(default_factory=set)
    """Numbered records that came twice with different values."""

    def add(self, identity: Identity, value: Value) -> None:
        self.rows += 1
        before = self.values.get(identity)
        if before is None:
            self.values[identity] = value
        elif self.windowed:
            # Counts and top speeds only grow; a batch that ran twice repeats an earlier one.
            self.values[identity] = max(before, value)
        else:
            self.duplicates += 1
            if before != value:
                self.contradictions.add(identity)


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """The result of a comparison; counts are exact, examples are cut."""

    expected: int
    rows: int
    distinct: int
    missing: int
    missing_ranges: list[list[Identity]]
    wrong: int
    wrong_examples: list[str]
    unknown: int
    unknown_examples: list[Identity]
    duplicates: int

    @property
    def is_complete(self) -> bool:
        # Of an input without records, no job proves anything.
        return bool(self.expected) and not self.missing and not self.wrong

    @property
    def is_right(self) -> bool:
        return self.is_complete and not self.unknown


def compare(expected: Mapping[Identity, Value], observed: Observed, examples: int = 20) -> Account:
    """Compare what should be there with what is."""
    missing = [identity for identity in expected if identity not in observed.values]
    unknown = [identity for identity in observed.values if identity not in expected]
    wrong = [
        identity
        for identity, value in expected.items()
        if identity in observed.contradictions or observed.values.get(identity, value) != value
    ]
    return Account(
        expected=len(expected),
        rows=observed.rows,
        distinct=len(observed.values),
        missing=len(missing),
        missing_ranges=ranges(missing)[:examples],
        wrong=len(wrong),
        wrong_examples=[f"{i}: {observed.values[i]}, not {expected[i]}" for i in wrong[:examples]],
        unknown=len(unknown),
        unknown_examples=unknown[:examples],
        duplicates=observed.duplicates,
    )


def ranges(identities: Iterable[Identity]) -> list[list[Identity]]:
    """Fold sequence numbers into [first, last] pairs; windows stay single."""
    found: list[list[Identity]] = []
    for identity in sorted(identities):
        if found and isinstance(identity, int) and found[-1][-1] == identity - 1:
            found[-1] = [found[-1][0], identity]
        else:
            found.append([identity])
    return found


def numbering_faults(sequences: Iterable[int]) -> dict[str, int]:
    """Tell how many numbers the input lacks or repeats: a generator that was killed leaves such."""
    numbers = list(sequences)
    distinct = set(numbers)
    holes = max(distinct, default=-1) + 1 - len(distinct)
    return {"records": len(numbers), "holes": holes, "repeated": len(numbers) - len(distinct)}


def window_start(event_time: int, window: int) -> int:
    """Find the tumbling window as Spark does: aligned to the epoch."""
    return event_time - event_time % window


def _expect_view(event: Fields, _window: int, expected: Expected) -> None:
    if event["event_type"] == "view":
        expected[int(event["sequence"])] = campaign_of(str(event["ad_id"]))


def _expect_count(event: Fields, window: int, expected: Expected) -> None:
    if event["event_type"] == "view":
        identity = (
            campaign_of(str(event["ad_id"])),
            window_start(int(event["event_time"]), window),
        )
        expected[identity] = int(expected.get(identity, 0)) + 1


def _expect_top_speed(event: Fields, window: int, expected: Expected) -> None:
    identity = (str(event["car_id"]), window_start(int(event["event_time"]), window))
    expected[identity] = max(float(expected.get(identity, 0.0)), float(event["speed"]))


def _expect_answer(event: Fields, _window: int, expected: Expected) -> None:
    expected[int(event["sequence"])] = str(event["key"])


def _sequence(row: Fields) -> Identity:
    return int(row["sequence"])


JOBS = {
    "advertisement": Job(
        identity=lambda row: (str(row["campaign_id"]), int(row["window_start"])),
        value=lambda row: int(row["count"]),
        expect=_expect_count,
        windowed=True,
    ),
    "advertisement-passthrough": Job(
        identity=_sequence,
        value=lambda row: row["campaign_id"],
        expect=_expect_view,
        windowed=False,
    ),
    "enrichment": Job(
        identity=_sequence, value=lambda row: row["key"], expect=_expect_answer, windowed=False
    ),
    "top-speed": Job(
        identity=lambda row: (str(row["car_id"]), int(row["window_start"])),
        value=lambda row: float(row["top_speed"]),
        expect=_expect_top_speed,
        windowed=True,
    ),
}
