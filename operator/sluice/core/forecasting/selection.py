"""Which model to trust with a load, and how wrong each one was: costly, so made each half hour and kept in between.

The models are ordered from simple to complex. A later one is taken only if it is clearly better than those before it,
and the one that was trusted until now is left only for one that is better by a margin (hysteresis): otherwise noise
would choose, and decisions would change with it. Seasons of a day and of a week are asked from seven and eight days on,
and what is discovered is shorter: with two days of history, a day's season loses against a short memory.

Models are tried on the newest day, and on the one that began a week ago if two weeks are known: a Sunday does not tell
who foresees a Monday.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from statistics import fmean
from typing import Any

import numpy as np

from sluice.core.forecasting.arima import Arima
from sluice.core.forecasting.cleaning import Cleaned, cleaned_steps
from sluice.core.forecasting.events import Announced
from sluice.core.forecasting.fourier import Fourier
from sluice.core.forecasting.guards import fitted
from sluice.core.forecasting.last_value import LastValue
from sluice.core.forecasting.local_trend import LocalTrend
from sluice.core.forecasting.model import Model, Parameters, Values
from sluice.core.forecasting.periods import Season
from sluice.core.forecasting.rolling_origin import Errors, rolling_errors, spread_origins
from sluice.core.forecasting.seasonal_naive import SeasonalNaive
from sluice.core.forecasting.smoothing import Smoothing
from sluice.core.modelling.stored import Data, opened, sealed
from sluice.core.series import NoData

VERSION = 1

LEADS = 30
"""Steps that a model predicts, at most: of a longer horizon, or of finer samples, several make one."""

ORIGINS = 24
"""Moments of the past at which each model is tried, at least: as many as leave no time between their horizons."""

DAY, WEEK = 86_400.0, 7 * 86_400.0

CAUTION = 0.5
"""A more complex model must be better by this share of the error, divided by the root of the horizons it was tried on.

So does the error of an error shrink: with little history almost nothing is proven, after a day the better is better.
"""

CAUTION_WITH_PERIODS = 1.0
"""If it has discovered a period: there are so many to choose from that one fits any past."""

MUCH_BETTER = 0.9
"""A model must have less than this share of the error of the one that was trusted until now."""


SHORT_MEMORY: Mapping[str, Model] = {
    model.name: model for model in (LastValue(), LocalTrend(), Smoothing(), Arima())
}
"""The models that look at the last minutes or hours only, and so soon notice what is new; from simple to complex."""

SEASONAL_NAIVE, FOURIER = "SeasonalNaive", "Fourier"
"""The models that discover a period; those of a day and a week know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model, what it has learned, and how wrong it was.

    `error` is its mean absolute error by that of the last value one step ahead (MASE; Hyndman and Koehler, 2006).
    `share` is the same by the mean load, for people. `radii` are rows per second around a forecast of each lead.
    """

    model: str
    parameters: Parameters
    error: float
    share: float
    radii: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(0 <= radius < inf for radius in self.radii):
            raise ValueError(f"{self}: radii are finite and not negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The trusted model, and all that apply, from the least error to the largest; why the others do not.

    `step` is that of the models in seconds, `factor` the number of samples' steps in one.
    """

    trusted: str
    step: float
    factor: int
    candidates: tuple[Candidate, ...]
    refused: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        known = {candidate.model for candidate in self.candidates}
        if not {self.trusted, LastValue().name} <= known <= models(DAY).keys():
            raise ValueError(
                f"{self.trusted} is trusted of {sorted(known)}: it and the last value are among them, and all are known"
            )
        if not (0 < self.step < inf and self.factor >= 1):
            raise ValueError(f"{self.factor} steps of {self.step} s: both are positive")

    def candidate(self, model: str) -> Candidate:
        """One of them by its name."""
        return next(candidate for candidate in self.candidates if candidate.model == model)

    def to_data(self) -> Data:
        """Plain data for `from_data`."""
        return sealed(
            "ForecastSelection",
            VERSION,
            trusted=self.trusted,
            step=self.step,
            factor=self.factor,
            candidates=[
                {name: getattr(candidate, name) for name in candidate.__slots__}
                for candidate in self.candidates
            ],
            refused=[list(pair) for pair in self.refused],
        )


def select(
    history: Iterable[tuple[float, float]],
    horizon: float,
    step: float,
    *,
    former: Selection | None = None,
    announced: Announced | None = None,
) -> Selection | NoData:
    """Fit all models to samples of (seconds from now, rows per second) and find the one to trust.

    Horizon and step are seconds; the step is that of the forecast's times, and of the samples if they are regular.
    """
    if not 0 < step <= horizon < inf:
        raise ValueError(f"step {step} s, horizon {horizon} s: 0 < step <= horizon")
    factor = ceil(horizon / step / LEADS)
    ordinary = history if announced is None else announced.taken_out(history)
    cleaned = cleaned_steps(ordinary, step, factor)
    if isinstance(cleaned, NoData):
        return cleaned
    steps = ceil(horizon / cleaned.step)
    days = _days(cleaned, steps)
    candidates, refused = _tried(cleaned, steps, days)
    horizons = sum(day[-1] + 1 - day[0] for day in days) / steps
    return Selection(
        trusted=most_trusted(candidates, horizons, former),
        step=step,
        factor=factor,
        candidates=tuple(sorted(candidates, key=lambda candidate: candidate.error)),
        refused=refused,
    )


def from_data(data: object) -> Selection:
    """Read what `to_data` wrote. Raises CorruptState."""
    with opened(data, "ForecastSelection", VERSION) as fields:
        return Selection(
            trusted=fields["trusted"],
            step=float(fields["step"]),
            factor=int(fields["factor"]),
            candidates=tuple(_candidate(candidate) for candidate in fields["candidates"]),
            refused=tuple((str(model), str(reason)) for model, reason in fields["refused"]),
        )


def models(step: float) -> Mapping[str, Model]:
    """All of them for steps of so many seconds, from simple to complex."""
    day, week = DAY / step, WEEK / step
    discovered = Season(longest=day / 2)
    daily = Season(period=day, least=ceil(week))
    weekly = Season(period=week, least=ceil(week + day))
    seasonal: tuple[Model, ...] = (
        SeasonalNaive(SEASONAL_NAIVE, discovered),
        Fourier(FOURIER, discovered),
        SeasonalNaive("SeasonalNaiveDaily", daily),
        Fourier("FourierDaily", daily),
        SeasonalNaive("SeasonalNaiveWeekly", weekly),
    )
    return {**SHORT_MEMORY, **{model.name: model for model in seasonal}}


def _days(cleaned: Cleaned, steps: int) -> list[list[int]]:
    """The moments of the newest day, in the newer half of the history, and those of the day that began a week ago."""
    newest = len(cleaned.values)
    day, week = ceil(DAY / cleaned.step), ceil(WEEK / cleaned.step)
    days = [_origins(max(2, newest // 2, newest - day), newest - 1, steps)]
    if newest > 2 * week + steps:
        days.append(_origins(newest - week, newest - week + day, steps))
    return days


def _origins(first: int, last: int, steps: int) -> list[int]:
    return spread_origins(max(ORIGINS, (last - first) // steps), first=first, last=last)


def _tried(
    cleaned: Cleaned, steps: int, days: list[list[int]]
) -> tuple[list[Candidate], tuple[tuple[str, str], ...]]:
    candidates, refused = [], []
    for name, model in models(cleaned.step).items():
        parameters = fitted(model, cleaned.values, steps)
        if isinstance(parameters, NoData):
            refused.append((name, parameters.reason))
            continue
        errors = [
            rolling_errors(model, parameters, cleaned, origins=origins, steps=steps)
            for origins in days
        ]
        candidates.append(_scored(name, parameters, errors, cleaned.values))
    return candidates, tuple(refused)


def _scored(
    model: str, parameters: Parameters, errors: Sequence[Errors], values: Values
) -> Candidate:
    # A load that never changes has no error to compare with, and no level if it is zero.
    smallest = 1e-9 * float(values.max()) or 1.0
    change = float(np.abs(np.diff(values)).mean())
    mean = fmean(day.mean() for day in errors)
    return Candidate(
        model=model,
        parameters=parameters,
        error=mean / max(change, smallest),
        share=mean / max(float(values.mean()), smallest),
        # What is long past is known by means of several minutes, and seems to be better foreseen than it is.
        radii=errors[0].radii(),
    )


def most_trusted(
    candidates: Sequence[Candidate], horizons: float, former: Selection | None = None
) -> str:
    """The first that no later one is clearly better than, or the former one if that is nearly as good.

    The candidates are in the order of complexity, and were tried over so many horizons.
    """
    best = candidates[0]
    for candidate in candidates[1:]:
        if candidate.error < _share_needed(candidate.model, horizons) * best.error:
            best = candidate
    for candidate in candidates:
        if (
            former is not None
            and candidate.model == former.trusted
            and best.error >= MUCH_BETTER * candidate.error
        ):
            return candidate.model
    return best.model


def _share_needed(model: str, horizons: float) -> float:
    discovers = model in (SEASONAL_NAIVE, FOURIER)
    caution = CAUTION_WITH_PERIODS if discovers else CAUTION
    return 1 - caution / sqrt(max(1.0, horizons))


def _candidate(fields: Mapping[str, Any]) -> Candidate:
    return Candidate(
        model=str(fields["model"]),
        parameters=tuple(float(number) for number in fields["parameters"]),
        error=float(fields["error"]),
        share=float(fields["share"]),
        radii=tuple(float(number) for number in fields["radii"]),
    )
