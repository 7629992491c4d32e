"""From a situation to a decision: the wish of a policy, or to undo harm, and what the guards make of it.

All see the situation in its compact form (`compacting`), so that a stored one gives the same decision again.
"""

from dataclasses import replace

from sluice.core.deciding.compacting import compacted
from sluice.core.deciding.decision import Decision, Policy, Veto
from sluice.core.deciding.guards import Settings, guarded
from sluice.core.deciding.policies.replies import held
from sluice.core.deciding.situation import Mode, Situation
from sluice.core.deciding.undoing import undone

DEFAULTS = Settings()


def decide(situation: Situation, policy: Policy, settings: Settings = DEFAULTS) -> Decision:
    """Decide how many executors a job should have from now on."""
    situation = compacted(situation)
    if settings.untold is not None:
        return held(situation, f"left as it is: {settings.untold}")
    wish = undone(situation, policy(situation))
    answer = guarded(situation, settings, wish)
    if isinstance(answer, Veto):
        return replace(wish, executors=_present(situation), veto=answer)
    if answer == wish.executors:
        return replace(wish, executors=answer)
    limit = "of these are allowed" if answer < wish.executors else "are the fewest allowed"
    reason = f"{wish.reason}; {answer} {limit}"
    return replace(wish, executors=situation.bounds.clipped(answer), reason=reason)


def _present(situation: Situation) -> int:
    """The number that there is; where bounds have changed, the nearest that is allowed."""
    if situation.mode is Mode.OFF:
        return situation.executors
    return situation.bounds.clipped(situation.executors)
