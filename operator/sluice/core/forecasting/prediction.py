"""The forecast of a load: cheap, for each decision, from the newest samples and a selection that was made before.

The trusted model speaks, unless it has failed since: a forecast that diverges, or errors over the last minutes far
beyond what they were (drift: a load that does something new). Then the model that was least wrong in these minutes
speaks, the forecast says so, and its range grows with the error; the next selection will settle it.

However wrong forecasts are, of a load that comes in pulses for example, upwards the range ends at the largest load that
there was, or at what is expected if that is more, and beyond it at as much as such records were broken by lately.
"""

from collections.abc import Iterable
from math import ceil

import numpy as np

from sluice.core.forecasting.cleaning import Cleaned, cleaned_steps
from sluice.core.forecasting.drift import Recent, in_order_of_trust
from sluice.core.forecasting.events import Announced
from sluice.core.forecasting.forecast import Forecast
from sluice.core.forecasting.guards import guarded
from sluice.core.forecasting.model import Values
from sluice.core.forecasting.rolling_origin import extended_radii
from sluice.core.forecasting.selection import Selection, models, select
from sluice.core.series import NoData

STALE = 10
"""Steps after which the newest sample says nothing of now."""


def forecast(
    history: Iterable[tuple[float, float]],
    horizon: float,
    step: float,
    *,
    announced: Announced | None = None,
) -> Forecast | NoData:
    """Forecast a load from samples of (seconds from now, rows per second), choosing the model anew."""
    samples = list(history)
    selection = select(samples, horizon, step, announced=announced)
    if isinstance(selection, NoData):
        return selection
    return predict(samples, horizon, selection, announced=announced)


def predict(
    history: Iterable[tuple[float, float]],
    horizon: float,
    selection: Selection,
    *,
    announced: Announced | None = None,
) -> Forecast | NoData:
    """Forecast a load with a model that was selected before."""
    ordinary = history if announced is None else announced.taken_out(history)
    cleaned = cleaned_steps(ordinary, selection.step, selection.factor)
    if isinstance(cleaned, NoData):
        return cleaned
    if -cleaned.end > STALE * cleaned.step:
        return NoData(
            f"the newest rate is {-cleaned.end:.0f} s old: nothing is forecast after {STALE * cleaned.step:.0f} s"
        )
    return _forecast(selection, cleaned, horizon, announced)


def _forecast(
    selection: Selection, cleaned: Cleaned, horizon: float, announced: Announced | None
) -> Forecast:
    steps = ceil((horizon - cleaned.end) / cleaned.step)
    recent, ahead, note = _believed(selection, cleaned, steps)
    times = selection.step * np.arange(1, max(1, round(horizon / selection.step)) + 1)
    places = cleaned.end + cleaned.step * np.arange(steps + 1)
    rates = np.interp(times, places, np.concatenate([cleaned.values[-1:], ahead]))
    radii = recent.widening * np.array(extended_radii(recent.candidate.radii, steps))
    reach = np.interp(times, places[1:], radii)
    beyond = np.interp(times, places, _breaks_of_records(cleaned.values, steps))
    most = np.maximum(rates, cleaned.values.max()) + beyond
    curves = [rates, np.maximum(rates - reach, 0.0), np.minimum(rates + reach, most)]
    if announced is not None:
        curves = [announced.put_on(times, curve) for curve in curves]
    rates, low, high = (tuple(curve.tolist()) for curve in curves)
    return Forecast(
        times=tuple(times.tolist()),
        rates=rates,
        low=low,
        high=high,
        model=recent.candidate.model,
        note=note,
    )


def _breaks_of_records(values: Values, steps: int) -> Values:
    """By how much, at most, the largest load so far was exceeded within 0, 1, ... steps, in the newer half of them."""
    records = np.maximum.accumulate(values)[len(values) // 2 :]
    known = min(steps, len(records) - 1)
    breaks = [(records[lead:] - records[: len(records) - lead]).max() for lead in range(known + 1)]
    return np.pad(breaks, (0, steps - known), mode="edge")


def _believed(selection: Selection, cleaned: Cleaned, steps: int) -> tuple[Recent, Values, str]:
    """The first forecast, in the order of trust, that can be believed, and why it is not the trusted model's."""
    known = models(cleaned.step)
    reasons: list[str] = []
    for recent in in_order_of_trust(selection, cleaned, steps):
        candidate = recent.candidate
        ahead = guarded(known[candidate.model], cleaned.values, steps, candidate.parameters)
        if not isinstance(ahead, NoData):
            reasons.append(recent.reason)
            return recent, ahead, "; ".join(filter(None, reasons))
        reasons.append(f"{candidate.model}: {ahead.reason}")
    raise AssertionError("the last value, which is always a candidate, is always believed")
