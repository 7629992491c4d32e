"""Policies as people write them on a command line: `sluice`, `hpa:target=0.35,tolerance=0.2`."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from sluice.core.deciding.decision import Policy
from sluice.core.deciding.policies.named import POLICIES, parameter_names, policy_named
from sluice.errors import InvalidSpec, Problem

COUNTS = frozenset({"executors", "hysteresis", "bins", "count"})
"""Parameters that are whole numbers."""

MOST_EXECUTORS = 10_000
"""As many as a StreamJob can have. Nothing else that is counted is more: no policy shall count for minutes."""

POSITIVE = frozenset(
    {
        "target",
        "threshold",
        "seconds",
        "catch_up",
        "horizon",
        "foresight",
        "bins",
        "downtime_share",
        "objective",
    }
)
"""Parameters that are more than nothing: policies divide by them."""

SHARES = frozenset({"downtime_share", "objective"})
"""Parameters that are less than one."""

Pairs = tuple[tuple[str, float], ...]


def policy_of(text: str) -> Policy:
    """The policy of such words. Raises InvalidSpec."""
    name, _, told = text.partition(":")
    if name not in POLICIES:
        raise InvalidSpec([Problem("policy", name, f"choose one of {', '.join(POLICIES)}")])
    return policy_named(name, **numbers(parameters(name, told, parameter_names(name))))


def stored_policy(name: str, stored: Mapping[str, Any]) -> Policy:
    """The policy of a name with parameters that were stored. Raises ValueError where they could not be told."""
    for parameter, value in stored.items():
        if not (is_number(value) and _fits(parameter, value)):
            raise ValueError(
                f"{name}:{parameter}: {value!r:.40} where a {_kind(parameter)} is expected"
            )
    return policy_named(name, **numbers(tuple(stored.items())))


def is_number(value: object) -> TypeGuard[float]:
    """Whether JSON has a number there, not what Python takes for one."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def parameters(policy: str, told: str, known: Iterable[str]) -> Pairs:
    """The parameters that are told behind a policy's name, if they are known. Raises InvalidSpec."""
    found: dict[str, float] = {}
    for pair in filter(None, told.split(",")):
        name, value = _parameter(policy, pair, tuple(known))
        if name in found:
            remedy = "write it once: two numbers contradict each other"
            raise InvalidSpec([Problem(f"{policy}:{name}", pair, remedy)])
        found[name] = value
    return tuple(found.items())


def numbers(pairs: Pairs) -> dict[str, float]:
    """Parameters by their names."""
    return {name: int(value) if name in COUNTS else value for name, value in pairs}


def _parameter(policy: str, pair: str, known: tuple[str, ...]) -> tuple[str, float]:
    name, _, number = pair.partition("=")
    if name not in known:
        remedy = f"choose one of {', '.join(known)}" if known else "this policy has no parameters"
        raise InvalidSpec([Problem(f"parameter of policy {policy}", name, remedy)])
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not _fits(name, value):
        remedy = f"write a {_kind(name)}, such as {policy}:{name}={0.5 if name in SHARES else 1}"
        raise InvalidSpec([Problem(f"{policy}:{name}", number, remedy)])
    return name, value


def _fits(name: str, value: float) -> bool:
    if name in COUNTS and not (float(value).is_integer() and value <= MOST_EXECUTORS):
        return False
    most = 1 if name in SHARES else math.inf
    return 0 < value < most or (value == 0 and name not in POSITIVE)


def _kind(name: str) -> str:
    kind = "whole number" if name in COUNTS else "number"
    kind += " that is positive" if name in POSITIVE else " that is not negative"
    if name in COUNTS:
        kind += f", up to {MOST_EXECUTORS}"
    return f"{kind}, and less than 1" if name in SHARES else kind
