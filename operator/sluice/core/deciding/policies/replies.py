"""How a policy answers, and what it may conclude from its former answers.

`wanted` of a decision is the raw wish, which is remembered; `executors` is what the policy makes of it, for example
after waiting whether a smaller size is wanted for long enough.
"""

import math
from collections.abc import Mapping

from sluice.core.deciding.compacting import WISHES
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.situation import Situation, Wish
from sluice.core.deciding.spells import remaining
from sluice.core.modelling.rescaling import Path
from sluice.core.series import Measured


def reply(
    situation: Situation,
    wanted: int,
    reason: str,
    *,
    executors: int | None = None,
    notes: Mapping[str, float] | None = None,
) -> Decision:
    """A wish within the bounds, done at once unless another number is given."""
    bounds = situation.bounds
    return Decision(
        wanted=bounds.clipped(wanted),
        executors=bounds.clipped(wanted if executors is None else executors),
        reason=reason,
        path=Path.LIVE if situation.live else Path.RESTART,
        notes={} if notes is None else notes,
    )


def held(situation: Situation, reason: str) -> Decision:
    """The decision to leave everything as it is."""
    return reply(situation, situation.executors, reason)


def largest_wish(situation: Situation, wanted: int, seconds: float) -> int:
    """The largest number that was wanted within the last seconds, the present wish included."""
    return max((wanted, *(wish.executors for wish in _held_within(situation, seconds))))


def wishes_reach(situation: Situation, seconds: float) -> bool:
    """Whether the former wishes are known for so long, or as long as any are, that their maximum says something."""
    reach = min(seconds, WISHES)
    return reach <= 0 or any(wish.at <= -reach for wish in situation.wishes)


def enough_for(situation: Situation, executors: int) -> float:
    """Seconds since no more than so many are wanted, as far as the former wishes are known."""
    since = 0.0
    for wish in reversed(_former(situation)):
        if wish.executors > executors:
            break
        since = -wish.at
    return since


def wanted_again(situation: Situation, executors: int) -> Measured:
    """Seconds until more than so many may be wanted again, as it was after such times before; infinite if never yet."""
    former = [(wish.at, float(wish.executors)) for wish in _former(situation)]
    return remaining(former, lambda wanted: wanted <= executors, lasting=math.inf)


def _held_within(situation: Situation, seconds: float) -> list[Wish]:
    """The wishes of the last seconds, and the one before them: it held until the next one, however late that came."""
    former = _former(situation)
    before = [wish for wish in former if wish.at <= -seconds]
    return [*before[-1:], *former[len(before) :]] if seconds > 0 else []


def _former(situation: Situation) -> list[Wish]:
    return [wish for wish in situation.wishes if wish.at < 0]


def steady_for(situation: Situation) -> float:
    """Seconds since the job started or was rescaled, whichever was later."""
    changed = situation.since_rescale
    return situation.uptime if changed is None else min(situation.uptime, changed)
