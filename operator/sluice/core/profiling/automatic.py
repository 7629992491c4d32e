"""What profiles are known by that the operator made by itself: a name with a number, and a label.

The number counts up, so the name of the next one follows from those that are there: whoever makes it twice is refused.
"""

import re
from collections.abc import Iterable

LABEL = "sluice.dev/automatic"
"""It is "true" on a profile that the operator made by itself."""

FAILURES = "sluice.dev/former-failures"
"""The annotation that says how many in a row have failed before."""


def profile_name(job: str, number: int) -> str:
    """The name of a job's profile of that number."""
    return f"{job}-auto-{number}"


def next_number(job: str, names: Iterable[str]) -> int:
    """The number after the largest of all profiles with such a name, whoever made them."""
    return 1 + max((number_of(job, name) for name in names), default=0)


def number_of(job: str, name: str) -> int:
    """The number in such a name; 0 if it is another one."""
    found = re.fullmatch(rf"{re.escape(job)}-auto-([0-9]{{1,9}})", name)
    return int(found[1]) if found else 0
