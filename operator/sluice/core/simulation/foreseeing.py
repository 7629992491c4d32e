"""Forecasts for a run: the model is chosen anew each half hour, as it is in production, and asked at each decision."""

from dataclasses import dataclass

from sluice.core.deciding.situation import Forecast, Situation
from sluice.core.forecasting.prediction import predict
from sluice.core.forecasting.selection import Selection, select
from sluice.core.series import NoData

AGAIN = 1800.0
"""Seconds until the model is chosen anew; while there is little history, until that has doubled."""

STEP = 60.0


@dataclass
class Forecaster:
    """Foresees the load of one job; remembers which model it trusts."""

    horizon: float = 900.0
    _selection: Selection | None = None
    _selected_at: float = 0.0
    _selected_with: float = 0.0

    def __call__(self, situation: Situation) -> Forecast | NoData:
        """Forecast from the history of a situation."""
        if not situation.history:
            return NoData("no load has been measured yet")
        if self._is_due(situation):
            found = select(situation.history, self.horizon, STEP, former=self._selection)
            if isinstance(found, NoData):
                return found
            self._selection, self._selected_at = found, situation.at
            self._selected_with = -situation.history[0][0]
        if self._selection is None:
            return NoData("no model has been chosen yet")
        return predict(situation.history, self.horizon, self._selection)

    def _is_due(self, situation: Situation) -> bool:
        length = -situation.history[0][0]
        old = situation.at - self._selected_at >= AGAIN
        return self._selection is None or old or length >= 2 * self._selected_with


def unforeseen(_: Situation) -> Forecast | NoData:
    """No forecast, for policies that ask for none."""
    return NoData("this policy asks for no forecast")
