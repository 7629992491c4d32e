"""Policies by the names that users write (spec.scaling.policy)."""

from collections.abc import Callable, Mapping
from dataclasses import fields

from sluice.core.deciding.decision import Policy
from sluice.core.deciding.policies.daedalus import Daedalus
from sluice.core.deciding.policies.ds2 import Ds2
from sluice.core.deciding.policies.flink_autoscaler import FlinkAutoscaler
from sluice.core.deciding.policies.hpa import Hpa
from sluice.core.deciding.policies.keda_lag import KedaLag
from sluice.core.deciding.policies.phoebe import Phoebe
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.policies.static import Static
from sluice.core.deciding.policies.twres import Twres

POLICIES: Mapping[str, Callable[..., Policy]] = {
    "sluice": Sluice,
    "phoebe": Phoebe,
    "static": Static,
    "hpa": Hpa,
    "keda-lag": KedaLag,
    "flink-autoscaler": FlinkAutoscaler,
    "ds2": Ds2,
    "twres": Twres,
    "daedalus": Daedalus,
}

FORECASTING = frozenset({"sluice", "phoebe", "twres", "daedalus"})
"""Those that use a forecast and what was learned of the job."""


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


def name_of(policy: Policy) -> str:
    """The name of a policy. Raises ValueError for one that has none."""
    for name, kind in POLICIES.items():
        if type(policy) is kind:
            return name
    raise ValueError(f"{policy} is none of {', '.join(POLICIES)}")


def parameters_of(policy: Policy) -> dict[str, object]:
    """The parameters in which a policy differs from its defaults."""
    values = {name: getattr(policy, name) for name in parameter_names(name_of(policy))}
    default = policy_named(name_of(policy))
    return {name: value for name, value in values.items() if value != getattr(default, name)}
