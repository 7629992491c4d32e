"""Who may do what: the operator all that it asks for, and the person what the commands need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluice.console.doctor.checks import Check, bad, fine, odd, unknown
from sluice.console.installation import Installation
from sluice.ports import Json, Resource

ACCESS_REVIEWS = Resource("authorization.k8s.io/v1", "subjectaccessreviews")
OWN_ACCESS_REVIEWS = Resource("authorization.k8s.io/v1", "selfsubjectaccessreviews")

_MOST_TOLD = 4


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource of a group; of one object of it if there is a name."""

    verb: str
    group: str
    resource: str
    name: str = ""

    def attributes(self, namespace: str | None) -> Json:
        """As a review of access takes it; no namespace means all."""
        resource, _, subresource = self.resource.partition("/")
        asked = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "name": self.name,
            "namespace": namespace or "",
        }
        return {name: value for name, value in asked.items() if value}

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def _rights(group: str, resources: str, verbs: str, name: str = "") -> tuple[Right, ...]:
    return tuple(
        Right(verb, group, resource, name)
        for resource in resources.split()
        for verb in verbs.split()
    )


_RBAC = "rbac.authorization.k8s.io"

WHERE_JOBS_ARE = (
    *_rights("sluice.dev", "streamjobs", "get list watch create delete"),
    *_rights("sluice.dev", "streamprofiles", "get list watch create delete"),
    *_rights("sluice.dev", "streamjobs/status streamprofiles/status", "patch"),
    *_rights("sluice.dev", "streamjobs/finalizers", "update"),
    *_rights("", "pods", "create get list watch delete deletecollection"),
    *_rights("", "pods/resize", "patch"),
    *_rights("", "configmaps", "create get patch delete deletecollection"),
    *_rights("", "secrets serviceaccounts", "create patch"),
    *_rights("coordination.k8s.io", "leases", "create get update"),
    *_rights("", "events", "create list"),
    *_rights(_RBAC, "roles rolebindings", "create patch"),
    *_rights("policy", "poddisruptionbudgets", "create patch"),
    *_rights("", "persistentvolumeclaims", "get list create delete"),
    *_rights("", "namespaces", "get"),
)
"""What the chart grants the operator in each namespace that it looks after."""

AT_HOME = (
    *_rights("coordination.k8s.io", "leases", "create get update"),
    *_rights("", "secrets", "get", name="sluice-agent-key"),
    *_rights("", "secrets", "create"),
)
"""What it grants in the operator's own namespace."""

OF_NODES = _rights("", "nodes", "list")
"""What it grants in the cluster to an operator that leaves nodes which are to be emptied."""

OF_COPIES = (
    *_rights("", "namespaces", "list create delete"),
    *_rights("", "resourcequotas limitranges", "get create"),
    *_rights("networking.k8s.io", "networkpolicies", "get create"),
)
"""What it grants in the cluster to an operator that makes namespaces for copies of jobs."""

OF_PEOPLE: Mapping[str, tuple[Right, ...]] = {
    "status": (*_rights("sluice.dev", "streamjobs", "get list"), *_rights("", "events", "list")),
    "top": _rights("sluice.dev", "streamjobs", "list"),
    "logs": (*_rights("sluice.dev", "streamjobs", "get"), *_rights("", "pods/log", "get")),
}
"""What a person needs for each command, in the namespace of the jobs."""


def account_of(one: Installation) -> str:
    """What the API server calls an operator."""
    return f"system:serviceaccount:{one.namespace}:{one.account}"


def review(right: Right, namespace: str | None, user: str | None = None) -> Json:
    """The question whether somebody has a right; about oneself without a user."""
    spec: Json = {"resourceAttributes": right.attributes(namespace)}
    kind = "SelfSubjectAccessReview"
    if user is not None:
        kind = "SubjectAccessReview"
        spec |= {"user": user, "groups": ["system:serviceaccounts", "system:authenticated"]}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


def is_allowed(answer: Json) -> bool:
    """What was answered."""
    return bool(answer.get("status", {}).get("allowed"))


def operator_check(
    one: Installation, namespace: str | None, missing: Sequence[Right], asked: int
) -> Check:
    """Whether an operator may do all that it will try."""
    where = f"in {namespace}" if namespace is not None else "in all namespaces"
    if not missing:
        return fine("Rights", f"{one.full_name} may do all {asked} things that it does {where}")
    told = ", ".join(str(right) for right in missing[:_MOST_TOLD])
    more = f" and {len(missing) - _MOST_TOLD} more" if len(missing) > _MOST_TOLD else ""
    remedy = (
        "Apply the chart again; a role or its binding was changed, or a namespace is newer than it"
    )
    return bad("Rights", f"{one.full_name} may not {told}{more} {where}", remedy)


def people_check(namespace: str, missing: Mapping[str, Sequence[Right]]) -> Check:
    """Which commands the person may use."""
    lacking = {name: rights for name, rights in missing.items() if rights}
    if not lacking:
        return fine("Your rights", f"enough for {', '.join(missing)} in {namespace}")
    told = "; ".join(
        f"{name} needs {', '.join(str(right) for right in rights)}"
        for name, rights in lacking.items()
    )
    remedy = f"Have the cluster's role `view` bound to you in {namespace}"
    return odd("Your rights", f"not enough in {namespace}: {told}", remedy)


def unreviewed(error: Exception) -> Check:
    """Nobody but an administrator may ask for others."""
    remedy = "An administrator may ask: kubectl sluice doctor"
    return unknown("Rights", f"of the operator: {error.args[0]}", remedy)
