"""What may keep a wish from being done: a chain of small rules, each of which lets it pass, lessens it or vetoes it.

The order matters: first whether the facts can be trusted, then whether this is a time to act, then how far to go, and
last who may act at all. No rule ever leads outside the bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sluice.core.deciding.decision import Decision, Veto
from sluice.core.deciding.situation import NEVER, Activity, Mode, Situation
from sluice.core.deciding.starting import is_long_in_flight
from sluice.core.deciding.undoing import undo_of, unharmful
from sluice.core.quantities import format_executors
from sluice.core.series import NoData
from sluice.core.windows import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How far the guards let a policy go. Times are in seconds; None is no limit."""

    staleness: float = 120.0
    """Numbers that are older are no basis for a change."""
    cooldown: float = 60.0
    """The least time between two rescales, unless the second one adds executors to a running driver."""
    blackouts: tuple[Window, ...] = ()
    max_step: int | None = None
    """The most executors that one decision adds or removes."""
    error_budget: float | None = None
    """Seconds that the objective may still be missed; without any, no saving is worth an outage."""
    grant: int | None = None
    """The most executors that the pool of several jobs gives to this one, or that there was room for."""
    approved: int | None = None
    """What was wanted when a person approved it, where the mode asks for that. Done is what the policy takes of it, or
    ahead of it, and no less of that if guards lessen it."""
    untold: str | None = None
    """Why nothing that is measured tells how many executors are enough, whatever the policy thinks of it."""


MODE = "mode"
"""The last guard: who may act at all."""

Guard = Callable[[Situation, Settings, int], int | Veto]


def fresh_data(situation: Situation, settings: Settings, wish: int) -> int | Veto:
    """Act on what is known now: old numbers change nothing, missing ones never shrink a job."""
    observed = situation.observed
    if observed.age >= NEVER:
        return Veto("fresh data", "nothing was measured that tells how the job is now")
    if observed.age > settings.staleness:
        return Veto(
            "fresh data",
            f"the newest numbers are {observed.age:.0f} s old, more than {settings.staleness:.0f} s",
        )
    if wish < situation.executors and isinstance(observed.arrival, NoData):
        return Veto("fresh data", f"no shrinking blindly: {observed.arrival.reason}")
    return wish


def activity(situation: Situation, _: Settings, wish: int) -> int | Veto:
    """Leave a job alone that starts or is rescaled; one that recovers, or works on a batch for minutes, may grow."""
    may_grow = situation.activity is Activity.RECOVERING or is_long_in_flight(situation)
    if situation.activity is Activity.STEADY or (may_grow and wish > situation.executors):
        return wish
    return Veto("activity", f"the job is {situation.activity.value.lower()}")


def cooldown(situation: Situation, settings: Settings, wish: int) -> int | Veto:
    """Let a rescale show its effect before the next; a running driver may get more executors at once.

    That costs no outage, and a load that has surprised the last decision does not wait.
    """
    since, grows_live = situation.since_rescale, situation.live and wish > situation.executors
    if since is None or since >= settings.cooldown or grows_live:
        return wish
    return Veto("cool-down", f"rescaled {since:.0f} s ago, less than {settings.cooldown:.0f} s")


def blackout(situation: Situation, settings: Settings, wish: int) -> int | Veto:
    """Keep the windows free in which the owner wants no rescale."""
    for window in settings.blackouts:
        if window.covers(situation.at):
            return Veto(
                "blackout",
                f"no rescaling from {window.start:%H:%M} to {window.end:%H:%M} {window.time_zone}",
            )
    return wish


def bounds(situation: Situation, _: Settings, wish: int) -> int | Veto:
    """Stay within what the owner allows."""
    return situation.bounds.clipped(wish)


def max_step(situation: Situation, settings: Settings, wish: int) -> int | Veto:
    """Go no further at once than allowed."""
    if settings.max_step is None:
        return wish
    lowest, highest = (
        situation.executors - settings.max_step,
        situation.executors + settings.max_step,
    )
    return min(max(wish, lowest), highest)


def harmful_before(situation: Situation, _: Settings, wish: int) -> int | Veto:
    """Do not what did harm under such a load before."""
    return unharmful(situation, wish)


def budget(situation: Situation, settings: Settings, wish: int) -> int | Veto:
    """Save nothing at the price of an objective that is already missed; to undo harm is no saving."""
    left = settings.error_budget
    if wish >= situation.executors or left is None or left > 0 or undo_of(situation) is not None:
        return wish
    return Veto("budget", "the error budget is used up, and shrinking has an outage of its own")


def grant(_: Situation, settings: Settings, wish: int) -> int | Veto:
    """Take no more than the pool gives."""
    return wish if settings.grant is None else min(wish, settings.grant)


GUARDS: tuple[Guard, ...] = (
    fresh_data,
    activity,
    cooldown,
    blackout,
    bounds,
    max_step,
    harmful_before,
    budget,
    grant,
)


def guarded(situation: Situation, settings: Settings, asked: Decision) -> int | Veto:
    """What the guards make of a wish. To leave a job as it is needs no permission, as long as that is allowed."""
    wish = asked.executors if settings.grant is None else min(asked.executors, settings.grant)
    wish = situation.bounds.clipped(wish)
    for guard in GUARDS:
        if wish == situation.executors:
            return wish
        answer = guard(situation, settings, wish)
        if isinstance(answer, Veto):
            return answer
        wish = answer
    wish = situation.bounds.clipped(wish)
    if wish == situation.executors:
        return wish
    return _permitted(situation, settings, asked.wanted, wish)


def _permitted(situation: Situation, settings: Settings, wanted: int, wish: int) -> int | Veto:
    """Act only where the owner lets the operator act; `wish` is what has become of what is wanted."""
    match situation.mode:
        case Mode.AUTO:
            return wish
        case Mode.APPROVE if settings.approved == wanted:
            return wish
        case Mode.APPROVE:
            return Veto(MODE, f"an approval of {format_executors(wish)} is waited for")
        case Mode.OBSERVE:
            return Veto(MODE, f"{format_executors(wish)} would be taken if the mode were Auto")
        case Mode.OFF:
            return Veto(MODE, "scaling is off")
