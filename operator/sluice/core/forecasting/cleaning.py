"""Samples of a rate as they come, irregular and faulty, made into equal steps.

    negative, not finite          no measurement: a counter was reset, or a scrape failed
    later than now                no measurement: the clock was set back
    zeros before the first row    no load: a stream that begins is no surprise to whoever forecasts it
    several in one step           their mean, at their mean time
    steps without any             a straight line over the gap; `known` says where
    an hour without any           what was a day before, if that is known: a missing day is no level one
    a spike of a few steps        replaced by a straight line if the level returns after it (Hampel, 1974)
    spikes again and again        load: rows that come each quarter of an hour
    zeros in the last few steps   the last positive rate: more is needed to call a source silent
    zeros for up to half an hour  no measurement, where the load usually flows; see `silences`

The last steps are otherwise believed, because a flash crowd begins like a spike; only what is hundreds of times
beyond all that was seen before must last to be believed.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting import sampling
from sluice.core.forecasting.model import Flags, Values
from sluice.core.forecasting.silences import bridged
from sluice.core.series import NoData

MOST_STEPS = 22_000
"""Steps that are kept: fifteen days of minutes, two weeks for the weekly season and a day to judge it by."""

LEAST_STEPS = 3
"""Fewer than that have neither a level nor a spread."""

BRIEF = 3
"""The longest spike, in steps; what lasts longer is load."""

NEIGHBOURS = 8
"""Steps on each side to which Hampel's filter compares: more than twice a spike's length, or it would be the median."""

OUTLYING = 6.0
"""Deviations from the neighbours' median beyond which a step is an outlier; 3 would cut the noise of small jobs."""

RARE, HABIT = 0.01, 3
"""So many spikes that take more than that share of all steps since the first are no errors of measurement."""

LONG_GAP, DAY = 3600.0, 86_400.0
"""Seconds: over a shorter gap a load does not change by much."""

ABSURD = 200.0
"""So many times the largest rate before it, a rate is not believed at once."""

FASTEST = 1e15
"""Rows per second beyond anything, as in `modelling.load`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """Rates at equal steps, the last one at `end` seconds from now, and which of them were measured."""

    values: Values
    known: Flags
    step: float
    end: float


def clean(history: Iterable[tuple[float, float]], step: float) -> Cleaned | NoData:
    """Rates at equal steps from samples of (seconds from now, rows per second)."""
    times, rates = _measurements(history)
    if not times.size:
        return NoData("no rate was measured")
    # Not `rint`, which rounds halves to even and would give every second step more samples.
    places = np.floor((times[-1] - times) / step + 0.5)
    recent = places < MOST_STEPS
    moments, means = _means(times[recent], rates[recent], places[recent])
    if len(moments) < LEAST_STEPS:
        return NoData(f"{len(moments)} steps of {step:g} s were measured: {LEAST_STEPS} are needed")
    grid = np.arange(moments[-1], moments[0] - step / 2, -step)[::-1]
    values = np.interp(grid, moments, means)
    nearest = np.searchsorted(moments, grid).clip(1, len(moments) - 1)
    distance = np.minimum(abs(moments[nearest] - grid), abs(moments[nearest - 1] - grid))
    flow = bridged(_without_long_gaps(values, distance, step), step)
    return Cleaned(
        values=_without_spikes(_without_lost_end(flow.values)),
        known=(distance <= step) & ~flow.silent,
        step=step,
        end=float(moments[-1]),
    )


def cleaned_steps(
    history: Iterable[tuple[float, float]], step: float, factor: int
) -> Cleaned | NoData:
    """The same, with the means of so many steps for one; spikes are found before they are blurred."""
    fine = clean(history, step)
    if isinstance(fine, NoData) or len(fine.values) >= LEAST_STEPS * factor:
        return fine if isinstance(fine, NoData) else coarser(fine, factor)
    return NoData(
        f"{len(fine.values)} steps of {step:g} s are known: {LEAST_STEPS * factor} are needed"
    )


def coarser(cleaned: Cleaned, factor: int) -> Cleaned:
    """The means of so many steps each; what was measured of a group tells that it is known."""
    return Cleaned(
        values=sampling.means(cleaned.values, factor),
        known=sampling.means(cleaned.known.astype(np.float64), factor) > 0,
        step=cleaned.step * factor,
        end=cleaned.end - cleaned.step * (factor - 1) / 2,
    )


def _measurements(history: Iterable[tuple[float, float]]) -> tuple[Values, Values]:
    samples = np.array(list(history), dtype=np.float64).reshape(-1, 2)
    valid = np.isfinite(samples).all(axis=1) & (samples[:, 0] <= 0) & (samples[:, 1] >= 0)
    valid[valid] &= samples[valid, 1] <= FASTEST
    samples = samples[valid]
    ordered = samples[np.argsort(samples[:, 0], kind="stable")]
    begun = ordered[np.argmax(ordered[:, 1] > 0) :] if ordered.size else ordered
    return begun[:, 0], begun[:, 1]


def _means(times: Values, rates: Values, places: Values) -> tuple[Values, Values]:
    """The mean time and the mean rate of each step that has samples, the oldest first."""
    steps, index, counts = np.unique(-places, return_inverse=True, return_counts=True)
    size = len(steps)
    return (
        np.bincount(index, times, size) / counts,
        np.bincount(index, rates, size) / counts,
    )


def _without_long_gaps(values: Values, distance: Values, step: float) -> Values:
    """Put what was a day before where nothing was measured for long; steps have a distance in seconds to a sample."""
    day, found = round(DAY / step), values.copy()
    for start, end in sampling.runs(distance > step):
        if (end - start) * step < LONG_GAP:
            continue
        # Of several days each follows the one before it.
        for begin in range(max(start, day), end, day):
            until = min(begin + day, end)
            found[begin:until] = found[begin - day : until - day]
    return found


def _without_lost_end(values: Values) -> Values:
    """Hold the last rate over a brief end of zeros, or of absurdly many rows."""
    before, end = values[:-BRIEF], values[-BRIEF:]
    if not before.size or before[-1] <= 0:
        return values
    lost = (end <= 0) | (end > ABSURD * before.max())
    if not lost[-1]:
        return values
    held = values.copy()
    first = len(before) + int(np.argmax(lost))
    held[first:] = values[first - 1]
    return held


def _without_spikes(values: Values) -> Values:
    """Replace brief outliers by a straight line between what is on both sides of them."""
    if len(values) <= 2 * NEIGHBOURS:
        return values
    around = np.lib.stride_tricks.sliding_window_view(
        np.pad(values, NEIGHBOURS, mode="edge"), 2 * NEIGHBOURS + 1
    )
    middle = _medians(around)
    deviation = 1.4826 * _medians(abs(around - middle[:, None]))
    # Where most neighbours are equal, the deviation is 0 and any small change would be an outlier.
    outlying = abs(values - middle) > OUTLYING * np.maximum(deviation, 0.05 * abs(middle))
    spikes = outlying & ~_lasting(outlying)
    # What is older than the first may have had others: it is kept as means of more steps, which blur them.
    first = int(np.argmax(spikes))
    is_rare = spikes[first + BRIEF :].sum() <= RARE * (len(values) - first)
    if not is_rare and len(list(sampling.runs(spikes))) >= HABIT:
        return values
    places = np.arange(len(values))
    return np.where(spikes, np.interp(places, places[~spikes], values[~spikes]), values)


def _medians(rows: Values) -> Values:
    """The median of each row of an odd number of values; `np.median` allows for all others, and costs more."""
    middle = rows.shape[1] // 2
    return np.partition(rows, middle, axis=1)[:, middle]


def _lasting(outlying: Flags) -> Flags:
    """The outliers in runs that are longer than a spike, or that have not ended yet."""
    lasting = np.zeros_like(outlying)
    for start, end in sampling.runs(outlying):
        lasting[start:end] = end - start > BRIEF or end == len(outlying)
    return lasting
