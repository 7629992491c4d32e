"""Is what should be installed there, of one version, and at work? The CRD, the operators, their Leases."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

from sluice import __version__
from sluice.api import crds
from sluice.console import words
from sluice.console.doctor.checks import Check, bad, fine, odd
from sluice.console.installation import Installation
from sluice.core.hints import APPLY_CRDS

LEASE = "sluice-operator"
"""The name of each operator's Lease, in its own namespace."""

_CRD = "CRD"
_APPLY = f"{APPLY_CRDS} (Helm never upgrades CRDs)"


def crd_check(kind: crds.Kind, found: Mapping[str, Any] | None) -> Check:
    """Whether the cluster's CRD of a kind is the one that this version knows."""
    name = kind.crd_name
    if found is None:
        return bad(_CRD, f"{name} is not installed", _APPLY)
    told = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", ())}
    if told.get("Established") != "True":
        return bad(_CRD, f"the API server does not serve {name} yet", _APPLY)
    ours = crds.crd(kind)["spec"]["versions"][0]
    theirs = [one for one in found["spec"]["versions"] if one["name"] == ours["name"]]
    if not theirs:
        return bad(_CRD, f"{name} has no version {ours['name']}", _APPLY)
    place = difference(ours, theirs[0])
    if place is not None:
        told_place = f"differs from that of version {__version__} at {place}"
        return bad(_CRD, f"{name} {told_place}", _APPLY)
    return fine(_CRD, f"{name} {ours['name']} is that of version {__version__}")


def difference(ours: Any, theirs: Any, place: str = "") -> str | None:
    """The first place at which theirs lacks something of ours, or has something else there."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key, value in ours.items():
            found = difference(value, theirs.get(key), f"{place}.{key}")
            if found is not None:
                return found
        return None
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            found = difference(one, other, f"{place}[{index}]")
            if found is not None:
                return found
        return None
    return None if ours == theirs or (not ours and theirs is None) else place


def operator_checks(installed: Sequence[Installation]) -> Iterator[Check]:
    """Whether there are operators, each ready and of this version, that do not disturb each other."""
    if not installed:
        yield bad("Operator", "no Deployment of the chart was found", "See docs/install.md")
    for one in installed:
        yield _ready(one)
        yield _version(one)
    for one, other in combinations(installed, 2):
        yield from _overlap(one, other)


def _ready(one: Installation) -> Check:
    scope = ", ".join(one.namespaces) or "the whole cluster"
    told = f"{one.full_name}: {one.ready} of {one.replicas} pods are ready; it looks after {scope}"
    look = f"kubectl describe deploy,pods -n {one.namespace}"
    if one.replicas == 0:
        return bad(
            "Operator", told, f"kubectl scale deploy/{one.name} -n {one.namespace} --replicas=1"
        )
    if one.ready == 0:
        return bad("Operator", told, look)
    return fine("Operator", told) if one.ready >= one.replicas else odd("Operator", told, look)


def _version(one: Installation) -> Check:
    told = f"{one.full_name} is {one.version or 'unlabelled'}, this command is {__version__}"
    if one.version == __version__:
        return fine("Version", f"{one.full_name} and this command are {__version__}")
    return odd(
        "Version", told, f"pip install '.[cli]' in a checkout of {one.version or 'its version'}"
    )


def _overlap(one: Installation, other: Installation) -> Iterator[Check]:
    shared = sorted(set(one.namespaces) & set(other.namespaces))
    if one.namespaces and other.namespaces and not shared:
        return
    where = ", ".join(shared or one.namespaces or other.namespaces) or "the whole cluster"
    told = f"{one.full_name} and {other.full_name} both look after {where}"
    yield bad("Operator", told, "Uninstall one, or give them different watchNamespaces")


def lease_check(one: Installation, lease: Mapping[str, Any] | None, now: datetime) -> Check:
    """Whether a process acts for this installation. `now` is the API server's."""
    look = f"kubectl logs deploy/{one.name} -n {one.namespace}"
    spec = (lease or {}).get("spec", {})
    holder, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    if not holder or not renewed:
        return bad("Leader", f"nobody leads in {one.namespace}", look)
    age = now - datetime.fromisoformat(renewed)
    told = f"{holder} renewed its Lease {words.span(age.total_seconds())} ago"
    if age > timedelta(seconds=spec.get("leaseDurationSeconds", 0)):
        return bad("Leader", f"{told}: it has run out, and nobody acts", look)
    return fine("Leader", told)
