"""Rates over time, and the moments at which numbered records are due; pure, without a clock.

constant:RATE                   sine:MEAN,AMPLITUDE,PERIOD      swell:LOWEST,HIGHEST,PERIOD
ramp:FROM,TO,SECONDS (then TO)  spike:BASE,PEAK,AT,DURATION
file:PATH.csv (second,rate per line; straight lines between, then the last rate)
Nothing is sent where a rate is below zero.
"""

import bisect
import csv
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Trace = Callable[[float], float]
"""Records per second at an elapsed second."""

TICK_SECONDS = 0.1


class InvalidTrace(ValueError):
    """The text of a trace cannot be understood."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """Records that are due within one tick, spread evenly over it."""

    first: int
    """Number of the first record, from 0."""
    count: int
    elapsed: float
    """Seconds at the tick's start."""

    def moment(self, index: int) -> float:
        """Tell when the record of this index within the tick is due."""
        return self.elapsed + TICK_SECONDS * index / self.count


def constant(rate: float) -> Trace:
    return lambda _: rate


def sine(mean: float, amplitude: float, period: float) -> Trace:
    """Swing around the mean, beginning there upwards; never below zero."""
    return lambda elapsed: max(0.0, mean + amplitude * math.sin(2 * math.pi * elapsed / period))


def swell(lowest: float, highest: float, period: float) -> Trace:
    """Rise smoothly from the lowest rate to the highest and fall again, once in a period."""
    mean, swing = (highest + lowest) / 2, (highest - lowest) / 2
    return lambda elapsed: mean - swing * math.cos(2 * math.pi * elapsed / period)


def ramp(start: float, end: float, seconds: float) -> Trace:
    return lambda elapsed: start + (end - start) * min(elapsed / seconds, 1.0)


def spike(base: float, peak: float, at: float, duration: float) -> Trace:
    return lambda elapsed: peak if at <= elapsed < at + duration else base


def preceded(trace: Trace, records: int, rate: float) -> tuple[Trace, float]:
    """So many records at once, at a rate that brokers bear, and then the trace; and the seconds until that begins."""
    seconds = records / rate
    return lambda elapsed: rate if elapsed < seconds else trace(elapsed - seconds), seconds


def from_points(points: list[tuple[float, float]]) -> Trace:
    """Join (second, rate) points by straight lines; before the first and after the last the rate stays."""
    seconds = [second for second, _ in points]

    def rate(elapsed: float) -> float:
        right = bisect.bisect_right(seconds, elapsed)
        if right in (0, len(points)):
            return points[max(right - 1, 0)][1]
        (left_second, left_rate), (right_second, right_rate) = points[right - 1 : right + 1]
        return left_rate + (right_rate - left_rate) * (elapsed - left_second) / (
            right_second - left_second
        )

    return rate


_KINDS: dict[str, tuple[Callable[..., Trace], int]] = {
    "constant": (constant, 1),
    "sine": (sine, 3),
    "swell": (swell, 3),
    "ramp": (ramp, 3),
    "spike": (spike, 4),
}


def parse_trace(text: str) -> Trace:
    """Read a trace as a user writes it."""
    kind, _, rest = text.partition(":")
    if kind == "file":
        return from_points(read_points(Path(rest)))
    if kind not in _KINDS:
        raise InvalidTrace(
            f"trace {text!r}: no kind {kind!r}; write one of {', '.join([*_KINDS, 'file'])}"
        )
    make, size = _KINDS[kind]
    try:
        numbers = [float(number) for number in rest.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != size:
        raise InvalidTrace(
            f"trace {text!r}: {kind} takes {size} numbers with commas between, as in {_example(kind)}"
        )
    return make(*numbers)


def read_points(path: Path) -> list[tuple[float, float]]:
    """Read second,rate lines; a first line of words is a heading."""
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if rows and not rows[0][0].replace(".", "", 1).isdigit():
        rows = rows[1:]
    try:
        points = [(float(second), float(rate)) for second, rate in rows]
    except ValueError as error:
        raise InvalidTrace(f"trace file {path}: each line must be second,rate: {error}") from error
    if not points or any(later[0] <= earlier[0] for earlier, later in itertools.pairwise(points)):
        raise InvalidTrace(f"trace file {path}: there must be lines, and their seconds must rise")
    return points


def schedule(
    trace: Trace, *, duration: float | None = None, records: int | None = None
) -> Iterator[Due]:
    """Say tick by tick which records are due, until the time is over or all records are out.

    The exact integral decides (by the midpoint of each tick), so fractions of records are carried, not lost. Rates
    below zero are none: numbers that were sent cannot be taken back, and would be sent again.
    """
    due, sent, tick = 0.0, 0, 0
    while (duration is None or tick * TICK_SECONDS < duration - 1e-9) and (
        records is None or sent < records
    ):
        elapsed = tick * TICK_SECONDS
        due += max(trace(elapsed + TICK_SECONDS / 2), 0.0) * TICK_SECONDS
        # Sums of tenths fall a hair short of whole numbers.
        until = math.floor(due + 1e-6)
        count = (until if records is None else min(until, records)) - sent
        yield Due(first=sent, count=count, elapsed=elapsed)
        sent += count
        tick += 1


def _example(kind: str) -> str:
    return {
        "constant": "constant:500",
        "sine": "sine:1000,400,600",
        "swell": "swell:600,1400,600",
        "ramp": "ramp:100,900,300",
        "spike": "spike:200,1500,120,60",
    }[kind]
