"""What a run looks like over time: samples at equal distances, those of each driver apart.

Counters begin at 0 with each driver, so what the first sample of a driver has was counted since its start. A number
that nobody has told is None, and so is all of a driver that is not there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain

Samples = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCourse:
    """What one driver has told at each moment of a course.

    `rows`, `batches` and `seconds` (of batches) count what was committed; `timed` counts the rows of known latency,
    `within` those of them within the bound. `backlog` are rows that had arrived and were not committed, `committed` is
    when the last batch was, `registered` the executors that could be given tasks.
    """

    rows: Samples
    batches: Samples
    seconds: Samples
    timed: Samples
    within: Samples
    backlog: Samples
    committed: Samples
    registered: Samples

    def __post_init__(self) -> None:
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"samples of a driver are as many of each kind, not {lengths}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Samples from `start` on, `step` seconds apart: executors as wanted and as running pods, and all drivers."""

    start: float
    step: float
    wanted: Samples
    running: Samples
    drivers: tuple[DriverCourse, ...]

    def __post_init__(self) -> None:
        odd = [one for one in self.drivers if len(one.rows) != len(self.wanted)]
        if odd or len(self.running) != len(self.wanted):
            raise ValueError("all samples of a course are of the same moments")

    @property
    def times(self) -> tuple[float, ...]:
        """The moments of the samples."""
        return tuple(self.start + self.step * place for place in range(len(self.wanted)))

    @property
    def in_time(self) -> "Course":
        """The same with each sample at the moment of which it tells.

        Whatever is told is at least as old as the youngest commit that a sample has told of: all are earlier by that.
        """
        commits = self.known("committed")
        news = zip(self.times[1:], commits[1:], commits, strict=False)
        ages = [at - commit for at, commit, before in news if commit not in (None, before)]
        return replace(self, start=self.start - max(0.0, min(ages, default=0.0)))

    def grown(self, counter: str) -> tuple[float, ...]:
        """By how much a counter of all drivers together has grown since the sample before."""
        growths = [growth(getattr(driver, counter)) for driver in self.drivers]
        return tuple(map(sum, zip(*growths, strict=True))) if growths else (0.0,) * len(self.wanted)

    def known(self, gauge: str) -> Samples:
        """A gauge of whichever driver tells of it; of two, the later one's."""
        columns = [getattr(driver, gauge) for driver in self.drivers]
        if not columns:
            return (None,) * len(self.wanted)
        return tuple(_last_known(row) for row in zip(*columns, strict=True))


def growth(counter: Samples) -> tuple[float, ...]:
    """By how much a counter has grown since the sample before; over a gap, at its end."""
    return tuple(_growth(counter))


def _growth(counter: Samples) -> Iterator[float]:
    before = 0.0
    for value in counter:
        yield max(0.0, value - before) if value is not None else 0.0
        before = value if value is not None else before


def held(samples: Samples) -> Samples:
    """The same samples with each gap filled by what was known before it."""
    found: list[float | None] = []
    for value in samples:
        found.append(value if value is not None or not found else found[-1])
    return tuple(found)


def _last_known(row: Sequence[float | None]) -> float | None:
    return next((value for value in reversed(row) if value is not None), None)


def packed(samples: Samples) -> str:
    """Samples as one line of text, of which a file stays small: '-' is none, '=' the same as before."""
    words: list[str] = []
    for value, before in zip(samples, chain((None,), samples), strict=False):
        word = "-" if value is None else f"{value:.10g}"
        words.append("=" if words and value is not None and value == before else word)
    return " ".join(words)


def unpacked(text: str) -> Samples:
    """Read what `packed` wrote. Raises ValueError."""
    found: list[float | None] = []
    for word in text.split():
        if word == "=" and not found:
            raise ValueError("'=' stands for the sample before it, and there is none")
        found.append(found[-1] if word == "=" else None if word == "-" else float(word))
    return tuple(found)
