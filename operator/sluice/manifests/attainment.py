"""How an objective is kept, as the status tells it, and back."""

from collections.abc import Mapping
from typing import Any

from sluice.core.measurement import Attained
from sluice.core.objectives.budget import Budget, Objective
from sluice.core.quantities import format_duration
from sluice.core.series import NoData

Json = dict[str, Any]


def told(objective: Objective | None, account: Attained | NoData | None) -> Json:
    """The part of the status."""
    if objective is None:
        return {}
    declared = {"objective": objective.share, "window": format_duration(objective.window)}
    if not isinstance(account, Attained):
        return declared
    return {
        **declared,
        "attainment": None if isinstance(account.share, NoData) else round(account.share, 6),
        "budgetLeft": round(account.budget.left, 4),
        "unknown": round(account.unknown, 4),
    }


def read(told: Mapping[str, Any]) -> Attained | None:
    """What a stored status tells. Of the budget that is a share: all of it counts as one."""
    if "budgetLeft" not in told:
        return None
    return Attained(
        share=told.get("attainment", NoData("nothing was known of this window")),
        budget=Budget(allowed=1.0, bad=1.0 - told["budgetLeft"]),
        unknown=told.get("unknown", 0.0),
    )


def text(objective: Objective | None, account: Attained | NoData | None) -> str:
    """The same as a column of `kubectl get`: what is attained of what is declared."""
    if objective is None:
        return ""
    reached = "?"
    if isinstance(account, Attained) and not isinstance(account.share, NoData):
        reached = f"{100 * account.share:.5g}%"
    return f"{reached}/{100 * objective.share:g}%"
