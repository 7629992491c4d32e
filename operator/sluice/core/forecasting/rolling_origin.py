"""How wrong a model would have been, had it been asked at moments of the past (Tashman, 2000).

At each origin it sees only what was known then; its parameters are today's, because learning them is costly and few
numbers cannot remember a history. Where it would not have answered, the last value would have been taken, and its error
counts. What was not measured is not compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sluice.core.forecasting.cleaning import Cleaned
from sluice.core.forecasting.guards import guarded
from sluice.core.forecasting.model import Model, Parameters, Values
from sluice.core.modelling.estimates import conformal_error
from sluice.core.series import NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Truth less forecast, by origin and lead; not a number where the truth is not known."""

    table: Values

    def mean(self) -> float:
        """The mean over the leads of the mean absolute error; 0 if nothing can be compared."""
        known = [np.abs(column).mean() for column in self._leads() if column.size]
        return float(np.mean(known)) if known else 0.0

    def newest_mean(self) -> float:
        """The mean over the origins: the newest, at which few leads are known, count as much as the others."""
        known = [
            np.abs(row[np.isfinite(row)]).mean() for row in self.table if np.isfinite(row).any()
        ]
        return float(np.mean(known)) if known else 0.0

    def relative_to(self, radii: Values) -> "Errors":
        """The same as shares of a range for each lead."""
        return Errors(table=self.table / radii)

    def radii(self) -> tuple[float, ...]:
        """For each lead the distance from the forecast in which the truth lies four times in five.

        Split conformal, for any model.
        """
        compared = [
            conformal_error(np.abs(column).tolist()) for column in self._leads() if column.size
        ]
        return extended_radii(compared, self.table.shape[1])

    def _leads(self) -> list[Values]:
        return [column[np.isfinite(column)] for column in self.table.T]


def extended_radii(radii: Sequence[float], steps: int) -> tuple[float, ...]:
    """So many leads: beyond what was compared the range grows with the root of the lead, as a random walk's does."""
    if not radii:
        return (0.0,) * steps
    last = len(radii)
    grown = (radii[-1] * (lead / last) ** 0.5 for lead in range(last + 1, steps + 1))
    return (*radii, *grown)[:steps]


def rolling_errors(
    model: Model,
    parameters: Parameters,
    cleaned: Cleaned,
    *,
    origins: list[int],
    steps: int,
) -> Errors:
    """The errors at some origins: the number of values that were known then."""
    values = cleaned.values
    truth = np.concatenate([np.where(cleaned.known, values, np.nan), np.full(steps, np.nan)])
    rows = [
        truth[origin : origin + steps] - _asked(model, parameters, values[:origin], steps)
        for origin in origins
    ]
    return Errors(table=np.array(rows).reshape(-1, steps))


def spread_origins(count: int, *, first: int, last: int) -> list[int]:
    """Origins at equal distances, both ends included; fewer if there are not so many."""
    return [
        int(origin) for origin in np.unique(np.linspace(first, max(first, last), count).round())
    ]


def _asked(model: Model, parameters: Parameters, values: Values, steps: int) -> Values:
    answer = guarded(model, values, steps, parameters)
    return np.full(steps, values[-1]) if isinstance(answer, NoData) else answer
