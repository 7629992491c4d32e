"""What people ask of a job by annotations, and what they are told of a value that asks for nothing.

The annotation that asks for a drill is answered in another way: `drilling.records`.
"""

PAUSED = "sluice.dev/paused"
"""Asks to leave the job alone, by "true"."""

ALLOW_MIGRATION = "sluice.dev/allow-migration"
"""Lets a job leave its progress behind; its value is the location of the new checkpoint."""

APPROVE = "sluice.dev/approve"
"""Approves a decision that waits for it; its value is the decision's id."""

RETRY = "sluice.dev/retry"
"""Asks for another try of a spec; its value is the incarnation after which the spec was given up. So it is good for one
try, and none that was asked for before.
"""

RESTART = "sluice.dev/restart"
"""Asks for another driver, once for each value: the pod of a driver has the value that there was when it was made."""

LONGEST_TOLD = 100
"""Characters of a wrong value that are told; anybody may have written it."""


def in_vain(annotation: str, value: str, why: str) -> str:
    """What is told of a value that asks for nothing: a sentence with the reason, or which value would ask."""
    return f"{annotation}: {value[:LONGEST_TOLD]!r} asks for nothing; {why}."
