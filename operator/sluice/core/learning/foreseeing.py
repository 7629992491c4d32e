"""What is foreseen of the load.

The model of the load is chosen anew each half hour, as it is in production, and asked at each decision.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sluice.core.deciding.situation import Forecast, Situation
from sluice.core.forecasting.calendar import Event
from sluice.core.forecasting.events import Announced
from sluice.core.forecasting.prediction import predict
from sluice.core.forecasting.selection import Selection, select
from sluice.core.series import NoData

History = Sequence[tuple[float, float]]

AGAIN = 1800.0
"""Seconds until the model is chosen anew; while there is little history, until that has doubled."""

STEP = 60.0
"""Seconds from one moment of a forecast to the next."""


@dataclass
class Forecaster:
    """Foresees the load of one job; remembers which model it trusts.

    The horizon is in seconds. One that is shorter than a step, as older releases took it, is a step.
    """

    horizon: float = 900.0
    calendar: tuple[Event, ...] = ()
    _selection: Selection | None = None
    _selected_at: float = 0.0
    _selected_with: float = 0.0

    @property
    def selection(self) -> Selection | None:
        """What was selected last."""
        return self._selection

    def __call__(self, situation: Situation) -> Forecast | NoData:
        """Forecast from the history of a situation."""
        return self.foresee(situation.history, situation.at)

    def foresee(self, history: History, at: float) -> Forecast | NoData:
        """Forecast at a moment, in seconds since 1970, from samples of (seconds from then, rows per second)."""
        if not history:
            return NoData("no load has been measured yet")
        announced = Announced(now=datetime.fromtimestamp(at, UTC), events=self.calendar)
        known = announced if self.calendar else None
        horizon = max(self.horizon, STEP)
        if self._is_due(history, at):
            found = select(history, horizon, STEP, former=self._selection, announced=known)
            if isinstance(found, NoData):
                return found
            self._selection, self._selected_at = found, at
            self._selected_with = -history[0][0]
        if self._selection is None:
            return NoData("no model has been chosen yet")
        return predict(history, horizon, self._selection, announced=known)

    def put_off(self, history: History, at: float) -> "Forecaster":
        """The same after a selection that took too long: the former one is good until the next is due."""
        if self._selection is None:
            return self
        return replace(self, _selected_at=at, _selected_with=-history[0][0])

    def _is_due(self, history: History, at: float) -> bool:
        # One that was chosen later than now was so by a clock that was set back since.
        old = not 0 <= at - self._selected_at < AGAIN
        return self._selection is None or old or -history[0][0] >= 2 * self._selected_with


def unforeseen(_: Situation) -> Forecast | NoData:
    """No forecast, for policies that ask for none."""
    return NoData("this policy asks for no forecast")
