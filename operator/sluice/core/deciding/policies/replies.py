"""How a policy answers, and what it may conclude from its former answers.

`wanted` of a decision is the raw wish, which is remembered; `executors` is what the policy makes of it, for example
after waiting whether a smaller size is wanted for long enough.
"""

from collections.abc import Mapping

from sluice.core.deciding.decision import Decision
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.rescaling import Path


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
    recent = (wish.executors for wish in situation.wishes if -seconds <= wish.at < 0)
    return max((wanted, *recent))


def smallest_wish(situation: Situation, wanted: int, seconds: float) -> int:
    """The smallest number that was wanted within the last seconds, the present wish included."""
    recent = (wish.executors for wish in situation.wishes if -seconds <= wish.at < 0)
    return min((wanted, *recent))


def wishes_reach(situation: Situation, seconds: float) -> bool:
    """Whether the former wishes are known for so long that their maximum says something."""
    return seconds <= 0 or any(wish.at <= -seconds for wish in situation.wishes)


def enough_for(situation: Situation, executors: int) -> float:
    """Seconds since more than so many were wanted, or since the first wish that is known."""
    known = [wish for wish in situation.wishes if wish.at < 0]
    larger = [wish.at for wish in known if wish.executors > executors]
    return -max(larger) if larger else -min((wish.at for wish in known), default=0.0)


def steady_for(situation: Situation) -> float:
    """Seconds since the job started or was rescaled, whichever was later."""
    changed = situation.since_rescale
    return situation.uptime if changed is None else min(situation.uptime, changed)
