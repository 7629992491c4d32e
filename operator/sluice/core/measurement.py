"""What a metrics' server tells of a job: a memory that is longer than the agent's, and another's clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sluice.core.objectives.budget import Budget, Objective, budget_of
from sluice.core.objectives.verdicts import counted
from sluice.core.series import Measured, NoData


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Why nothing is told: a reason for machines, and a sentence."""

    reason: str
    message: str


NOT_CONFIGURED = Unmeasured(
    "NotConfigured", "No Prometheus is configured: set prometheus.url of the chart."
)
NOT_YET_ASKED = Unmeasured("NotYetAsked", "Prometheus has not been asked yet.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What is told of a job at one moment.

    `at` is the server's clock, which was `ahead` of ours. `scraped` is when the agent's metrics were last taken.
    `good` and `known` count the minutes of the objective's window. `recent` is the share of good minutes of the last
    five, by indicator.
    """

    at: datetime
    ahead: timedelta = timedelta(0)
    scraped: datetime | None = None
    good: float | None = None
    known: float | None = None
    recent: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attained:
    """How an objective is kept: the share of good minutes, the budget, and the share of unknown minutes."""

    share: Measured
    budget: Budget
    unknown: float


def attained(
    objective: Objective, told: Measurement | Unmeasured, created: datetime
) -> Attained | NoData:
    """The account of a job's objective over its window, of which a young job has lived a part only."""
    if isinstance(told, Unmeasured):
        return NoData(told.message)
    if told.good is None or told.known is None:
        return NoData("the recording rules of the chart have no sample of this job yet")
    lived = max(timedelta(0), told.at - told.ahead - created)
    expected = min(objective.window, lived) // objective.slice
    tally = counted(good=told.good, known=told.known, expected=expected)
    budget = budget_of(tally, objective)
    if isinstance(budget, NoData):
        return budget
    share = tally.attainment(objective.gaps)
    return Attained(share=share, budget=budget, unknown=tally.unknown_share if expected else 0.0)
