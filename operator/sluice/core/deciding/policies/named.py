"""Policies by the names that users write (spec.scaling.policy)."""

from collections.abc import Callable, Mapping
from dataclasses import fields

from sluice.core.deciding.decision import Policy
from sluice.core.deciding.policies.phoebe import Phoebe
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.policies.static import Static

POLICIES: Mapping[str, Callable[..., Policy]] = {
    "sluice": Sluice,
    "phoebe": Phoebe,
    "static": Static,
}


def policy_named(name: str, **parameters: object) -> Policy:
    """The policy of a name, with some parameters instead of its defaults. Raises ValueError on unknown ones."""
    if name not in POLICIES:
        raise ValueError(f"policy {name!r} is unknown: choose one of {', '.join(POLICIES)}")
    known = parameter_names(name)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ValueError(
            f"policy {name} has no parameter {unknown[0]!r}: choose one of {', '.join(known)}"
        )
    return POLICIES[name](**parameters)


def parameter_names(name: str) -> tuple[str, ...]:
    """The parameters of a policy."""
    return tuple(field.name for field in fields(POLICIES[name]))  # type: ignore[arg-type]  # all are dataclasses
