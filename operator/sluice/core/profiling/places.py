"""The namespaces of copies: named after their profile, so that they are found again, and are nobody else's."""

import re

from sluice.core.profiling.records import Profile

LONGEST = 63
"""Characters of a namespace's name."""


def copy_namespace(profile: Profile, executors: int) -> str:
    """The namespace that is made for a copy."""
    end = _ending(profile.uid, executors)
    name = re.sub(r"[^a-z0-9-]", "-", profile.key.name)
    return f"{name[: LONGEST - len(end)].rstrip('-')}{end}"


def is_copys(namespace: str, uid: str) -> bool:
    """Whether a namespace has the name of one that is made for copies of the profile of that uid."""
    return re.search(rf"-x[0-9]+-{re.escape(_short(uid))}$", namespace) is not None


def _ending(uid: str, executors: int) -> str:
    return f"-x{executors}-{_short(uid)}"


def _short(uid: str) -> str:
    return re.sub(r"[^a-z0-9]", "", uid.lower())[:5]
