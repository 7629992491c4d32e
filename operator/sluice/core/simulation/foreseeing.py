"""What is foreseen in a run: the load, and how long a recovery from a failure now would take.

The model of the load is chosen anew each half hour, as it is in production, and asked at each decision.
"""

from dataclasses import dataclass

from sluice.core.deciding.situation import Forecast, Situation
from sluice.core.forecasting.prediction import predict
from sluice.core.forecasting.selection import Selection, select
from sluice.core.modelling.downtime import Cause
from sluice.core.modelling.load import Load, constant_load, load
from sluice.core.modelling.recovery import Outage, Pace, Recovered, predicted_recovery
from sluice.core.series import Measured, NoData

AGAIN = 1800.0
"""Seconds until the model is chosen anew; while there is little history, until that has doubled."""

STEP = 60.0

REPLAYED = 240
"""Samples of history that a replay can need: an hour."""


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


def foreseen_recovery(situation: Situation, forecast: Forecast | NoData, cause: Cause) -> Measured:
    """The seconds in which the job as it is would recover from a failure now, by what was learned of it."""
    capacity, arrival = situation.models.capacity.fitted(), situation.observed.arrival
    if isinstance(capacity, NoData):
        return capacity
    if isinstance(arrival, NoData):
        return arrival
    age, batching = situation.observed.commit_age, situation.batching
    outage = Outage(
        downtime=situation.models.downtimes.of(cause).quantile(0.5),
        interval=0.0 if isinstance(age, NoData) else max(0.0, age),
    )
    pace = Pace(
        capacity=capacity.rate(situation.executors),
        overhead=batching.overhead,
        period=batching.period,
        most_rows=batching.most_rows,
    )
    recovery = predicted_recovery(_coming(situation, arrival, forecast), outage, pace)
    return recovery.seconds if isinstance(recovery, Recovered) else NoData(recovery.reason)


def _coming(situation: Situation, arrival: float, forecast: Forecast | NoData) -> Load:
    ahead = [] if isinstance(forecast, NoData) else zip(forecast.times, forecast.rates, strict=True)
    found = load([*situation.history[-REPLAYED:], (0.0, arrival), *ahead])
    return constant_load(arrival) if isinstance(found, NoData) else found
