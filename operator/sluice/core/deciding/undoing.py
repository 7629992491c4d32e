"""What follows from rescales that did harm: each is undone once, and its number is not wished for again for a while.

undo        the next wish is the former number, or more where the policy wants more than that
shrinking   a refused wish goes to the next number towards the former one; each further harm doubles that step, so
            that the number which is enough is found in a few tries
growing     a refused wish is vetoed, unless the job has fallen far behind; no other number is, and what shrinking
            taught never keeps a job from growing
"""

from dataclasses import replace

from sluice.core.deciding.decision import Decision, Veto
from sluice.core.deciding.harms import Harm
from sluice.core.deciding.outlook import arriving
from sluice.core.deciding.situation import Situation
from sluice.core.modelling.rescaling import Path
from sluice.core.series import NoData

GUARD = "harmful before"

PEACE = 1800.0
"""Seconds after a harmful shrink until a smaller one is tried: a backlog that it left would spoil that trial."""


BEHIND = 300.0
"""Seconds of arrivals; if more waits, no harm that a larger number did is worse than to stay."""


def undo_of(situation: Situation) -> Harm | None:
    """The harm that is to be undone now: of the present number, under this load, and not undone before."""
    found = (
        harm
        for harm in _applying(situation)
        if not harm.undone
        and harm.executors == situation.executors
        and situation.bounds.clipped(harm.before) != situation.executors
    )
    return max(found, key=lambda harm: harm.at, default=None)


def undone(situation: Situation, wish: Decision) -> Decision:
    """The wish of a policy, or to go back where the last rescale did harm."""
    harm = undo_of(situation)
    if harm is None:
        return wish
    wanted, reason = harm.before, f"undoes decision {harm.decision}: {harm.reason}"
    if not harm.grew and wish.executors > wanted:
        wanted, reason = wish.executors, f"{reason}; {wish.reason}"
    wanted = situation.bounds.clipped(wanted)
    expected = next((one for one in wish.candidates if one.executors == wanted), None)
    return replace(
        wish,
        wanted=wanted,
        executors=wanted,
        reason=reason,
        path=Path.LIVE if situation.live else Path.RESTART,
        expected_latency=_number(expected and expected.latency),
        expected_recovery=_number(expected and expected.recovery),
        undoes=harm.decision,
    )


def unharmful(situation: Situation, wish: int) -> int | Veto:
    """The wish, or the nearest number that is not known to do harm; a veto if that is none."""
    if undo_of(situation) is not None:
        return wish
    if wish > situation.executors:
        if _is_far_behind(situation):
            return wish
        grown = [harm for harm in _applying(situation) if harm.grew and harm.executors == wish]
        return _veto(grown[-1]) if grown else wish
    shrunk = [h for h in _applying(situation) if not h.grew and h.executors >= wish]
    if not shrunk:
        return wish
    worst, newest = max(harm.executors for harm in shrunk), max(shrunk, key=lambda harm: harm.at)
    least = worst + 2 ** (len(shrunk) - 1)
    is_recent = situation.at - newest.at < PEACE
    return _veto(newest) if is_recent or least >= situation.executors else least


def _is_far_behind(situation: Situation) -> bool:
    lag, arrival = situation.observed.lag, arriving(situation)
    if isinstance(lag, NoData) or isinstance(arrival, NoData):
        return False
    return lag > BEHIND * arrival


def _applying(situation: Situation) -> list[Harm]:
    arrival = arriving(situation)
    return [harm for harm in situation.harms if harm.applies(arrival)]


def _veto(harm: Harm) -> Veto:
    return Veto(GUARD, f"decision {harm.decision} did harm: {harm.reason}")


def _number(measured: object) -> float | None:
    return measured if isinstance(measured, float) else None
