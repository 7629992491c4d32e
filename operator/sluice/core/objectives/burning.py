"""When a budget burns fast enough to call somebody: several windows, several burn rates.

The SRE Workbook (Beyer et al., 2018), chapter 5, table 5-8. Each rung asks for a share of the budget to be gone within
a long window, and for the same rate within a short one, so that it ends soon after the trouble does. A rate is
share x window / long; for a window of 30 days these are the well-known 14.4, 6, 3 and 1. A rate under 1 would call
while the objective is met, so no threshold is lower.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from sluice.core.objectives.budget import Objective, burn_rate
from sluice.core.objectives.verdicts import Tally
from sluice.core.series import NoData


class Severity(StrEnum):
    """Who is called: somebody now, or somebody in working hours."""

    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """So much of the budget within the long window, and still at that rate in the short one."""

    long: timedelta
    short: timedelta
    share: float
    severity: Severity

    def threshold(self, window: timedelta) -> float:
        """The burn rate at which this rung calls, for an objective over a window."""
        return max(1.0, self.share * (window / self.long))


LADDER = (
    Rung(
        long=timedelta(hours=1), short=timedelta(minutes=5), share=0.02, severity=Severity.CRITICAL
    ),
    Rung(
        long=timedelta(hours=6), short=timedelta(minutes=30), share=0.05, severity=Severity.CRITICAL
    ),
    Rung(long=timedelta(days=1), short=timedelta(hours=2), share=0.1, severity=Severity.WARNING),
    Rung(long=timedelta(days=3), short=timedelta(hours=6), share=0.1, severity=Severity.WARNING),
)


def burning(tally_of: Callable[[timedelta], Tally], objective: Objective) -> Rung | None:
    """The first rung that calls; `tally_of` counts the slices of a window that ends now."""
    for rung in LADDER:
        threshold = rung.threshold(objective.window)
        spans = (rung.long, rung.short)
        rates = [burn_rate(tally_of(span), objective, span) for span in spans]
        if all(not isinstance(rate, NoData) and rate > threshold for rate in rates):
            return rung
    return None
