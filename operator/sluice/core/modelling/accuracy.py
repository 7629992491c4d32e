"""How far predicted recoveries were from the measured ones, and what that says of the next prediction.

The ratio of measured to predicted is learned like any positive number that varies. It is told beside a prediction and
not multiplied into it: a model that is wrong should be mended, and seen to be wrong until then.
"""

from dataclasses import dataclass, field, replace
from statistics import fmean, median

from sluice.core.modelling.estimates import Estimate, Learned
from sluice.core.modelling.stored import Data, opened, sealed
from sluice.core.series import Measured, NoData

VERSION = 1

PRIOR = Learned(median=1.0, spread=0.15)
"""Before any recovery was measured: within about 20 %, four times in five."""

ALARM = 0.2
"""A mean error above that is worth an alarm (phoebe.md 4.4); the paper's were 4.5 % and 8.5 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The ratios of measured to predicted recovery times."""

    ratio: Learned = field(default=PRIOR)

    def with_observation(self, *, predicted: float, measured: float) -> "Accuracy":
        """One more recovery, in seconds; without a prediction there is nothing to compare."""
        if not (predicted > 0 and measured > 0):
            return self
        return replace(self, ratio=self.ratio.with_observation(measured / predicted))

    def mean_error(self) -> Measured:
        """The mean of |predicted - measured| / measured."""
        errors = self._errors()
        return fmean(errors) if errors else NoData("no recovery has been measured yet")

    def median_error(self) -> Measured:
        """The median of the same."""
        errors = self._errors()
        return median(errors) if errors else NoData("no recovery has been measured yet")

    def is_alarming(self) -> bool:
        """Whether predictions are too far off to be relied on."""
        error = self.mean_error()
        return not isinstance(error, NoData) and error > ALARM

    def range(self, predicted: float) -> Estimate:
        """A predicted recovery time in the range that former ones leave open."""
        ratio = self.ratio.estimate()
        return Estimate(
            value=predicted,
            low=min(predicted, predicted * ratio.low),
            high=max(predicted, predicted * ratio.high),
            observations=ratio.observations,
        )

    def to_data(self) -> Data:
        """Plain data for `from_data`."""
        return sealed("Accuracy", VERSION, ratios=list(self.ratio.observed))

    def _errors(self) -> list[float]:
        return [abs(1 / ratio - 1) for ratio in self.ratio.observed]


def from_data(data: object) -> Accuracy:
    """Read what `to_data` wrote. Raises CorruptState."""
    with opened(data, "Accuracy", VERSION) as fields:
        return Accuracy(ratio=PRIOR.with_history(fields["ratios"]))
