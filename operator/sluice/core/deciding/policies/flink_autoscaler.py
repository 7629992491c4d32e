"""The autoscaler of the Apache Flink Kubernetes Operator, with its published formulas and defaults.

Needed capacity = lag / catch-up + rate x restart / catch-up + rate / utilisation; it acts when the true rate leaves the
band of such capacities around the target (AutoScalerUtils, ScalingMetricEvaluator, JobVertexScaler). After a rescale it
waits for 5 minutes and a full window of metrics; it shrinks only to what was enough for an hour, by 60 % at most.
"""

import math
from dataclasses import dataclass

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.policies.rates import mean_arrival, true_rate
from sluice.core.deciding.policies.replies import (
    held,
    largest_wish,
    reply,
    steady_for,
    wishes_reach,
)
from sluice.core.deciding.situation import Situation
from sluice.core.series import NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkAutoscaler:
    """The options of the same names, with their defaults; times are in seconds."""

    target: float = 0.7
    boundary: float = 0.3
    metrics_window: float = 900.0
    stabilisation: float = 300.0
    catch_up: float = 1800.0
    restart: float = 300.0
    scale_down_interval: float = 3600.0
    max_scale_down: float = 0.6
    lag_threshold: float = 300.0
    """Above so many seconds of lag it processes a backlog, and does not shrink."""

    def __call__(self, situation: Situation) -> Decision:
        """Decide as the operator does for one vertex."""
        rate, arrival = true_rate(situation), mean_arrival(situation, self.metrics_window)
        lag = situation.observed.lag
        if steady_for(situation) < self.stabilisation + self.metrics_window:
            return held(situation, "left as it is: the window of metrics is not full")
        if isinstance(rate, NoData):
            return held(situation, f"left as it is: {rate.reason}")
        if isinstance(arrival, NoData):
            return held(situation, f"left as it is: {arrival.reason}")
        if isinstance(lag, NoData):
            return held(situation, f"left as it is: {lag.reason}")
        return self._evaluated(situation, rate, arrival, lag)

    def _evaluated(self, situation: Situation, rate: float, arrival: float, lag: float) -> Decision:
        backlog = lag > self.lag_threshold * arrival
        upper = 1.0 if backlog else min(1.0, self.target + self.boundary)
        lower = 0.0 if backlog else max(0.0, self.target - self.boundary)
        least = self.needed(arrival, lag, upper, restart=0.0)
        most = self.needed(arrival, lag, lower, restart=self.restart) if lower else math.inf
        if least <= rate <= most:
            return held(situation, f"{rate:.0f} rows/s are between {least:.0f} and {most:.0f}")
        needed = self.needed(arrival, lag, self.target, restart=self.restart)
        factor = max(needed / rate, 1 - self.max_scale_down)
        wanted = math.ceil(min(situation.executors * factor, 1e9) - 1e-9)
        reason = f"{needed:.0f} rows/s are needed, and {rate:.0f} are there"
        return reply(situation, wanted, reason, executors=self._delayed(situation, wanted))

    def needed(self, arrival: float, lag: float, utilisation: float, *, restart: float) -> float:
        """The rows per second that keep up, and catch up in time."""
        return (lag + arrival * restart) / self.catch_up + arrival / utilisation

    def _delayed(self, situation: Situation, wanted: int) -> int:
        current = situation.executors
        if wanted >= current:
            return wanted
        if not wishes_reach(situation, self.scale_down_interval):
            return current
        return min(current, largest_wish(situation, wanted, self.scale_down_interval))
