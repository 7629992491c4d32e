"""Have an object in the cluster: create it, and if one of its name is there, see first whose that is.

What is somebody else's is never written: it would get our content and our owner, and would be deleted with that.
"""

from collections.abc import Awaitable, Callable, Mapping

from sluice.errors import Conflict, InvalidSpec, NameTaken, NotFound, NotYetGone
from sluice.ports import (
    CLAIMS,
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    LEASES,
    LIMIT_RANGES,
    NAMESPACES,
    NETWORK_POLICIES,
    RESOURCE_QUOTAS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    STREAM_JOBS,
    Cluster,
    Json,
    Resource,
)

_KINDS: Mapping[str, Resource] = {
    "ConfigMap": CONFIG_MAPS,
    "Lease": LEASES,
    "LimitRange": LIMIT_RANGES,
    "Namespace": NAMESPACES,
    "NetworkPolicy": NETWORK_POLICIES,
    "PersistentVolumeClaim": CLAIMS,
    "PodDisruptionBudget": DISRUPTION_BUDGETS,
    "ResourceQuota": RESOURCE_QUOTAS,
    "Role": ROLES,
    "RoleBinding": ROLE_BINDINGS,
    "Secret": SECRETS,
    "ServiceAccount": SERVICE_ACCOUNTS,
    "StreamJob": STREAM_JOBS,
}

Meet = Callable[[Resource, Json], Awaitable[None]]
"""What is done about an object that is there. Raises NotFound if there is none, NameTaken if it is not ours."""

_OWNER = "/metadata/ownerReferences/0"
_OWNERS_NAME = ("apiVersion", "kind", "name")


async def have(cluster: Cluster, body: Json, meet: Meet, *, is_new: bool) -> None:
    """Create an object, or `meet` the one that is there. One that is not new is looked for first."""
    kind = _KINDS[body["kind"]]
    if not is_new:
        try:
            await meet(kind, body)
        except NotFound:
            pass
        else:
            return
    try:
        await cluster.create(kind, body)
    except (Conflict, InvalidSpec) as refusal:
        # A quota that the object itself has used up is told before that it is there.
        try:
            await meet(kind, body)
        except NotFound:
            raise refusal from None


class Children:
    """What belongs to a job, whose uid is that of the owner in each body.

    Nothing is read, for Secrets may not be: the patch that brings a child up to date tests itself whose it is.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def have(self, body: Json, *, is_new: bool) -> None:
        """Create a child, or bring it up to date. Raises NameTaken if what is there is not the job's."""
        await have(self._cluster, body, self._bring_up_to_date, is_new=is_new)

    async def amend(self, body: Json) -> bool:
        """Bring a child up to date that is there; whether it is the job's. Raises NotFound."""
        (owner,) = body["metadata"]["ownerReferences"]
        tests = {f"{_OWNER}/uid": owner["uid"]}
        return await self._cluster.amend(_KINDS[body["kind"]], body, tests=tests)

    async def _bring_up_to_date(self, kind: Resource, body: Json) -> None:
        if await self.amend(body):
            return
        (owner,) = body["metadata"]["ownerReferences"]
        tests = {f"{_OWNER}/{part}": owner[part] for part in _OWNERS_NAME}
        if await self._cluster.amend(kind, {"metadata": body["metadata"]}, tests=tests):
            raise not_yet_gone(body)
        raise taken(body)


def is_a_formers(found: Json, body: Json) -> bool:
    """Whether an object that is there belonged to a job of that name that is gone, and goes with it."""
    owners, (ours,) = (
        found["metadata"].get("ownerReferences") or (),
        body["metadata"]["ownerReferences"],
    )
    return any(
        owner["uid"] != ours["uid"] and all(owner[part] == ours[part] for part in _OWNERS_NAME)
        for owner in owners
    )


def taken(body: Json) -> NameTaken:
    """Somebody else has an object of that name."""
    remedy = "delete or rename it, or give the job another name"
    return NameTaken(f"{_told(body)} is there and is not this job's; {remedy}")


def not_yet_gone(body: Json) -> NotYetGone:
    """A job of the same name that was deleted has left an object of that name behind."""
    return NotYetGone(f"{_told(body)} is a deleted job's of the same name, and is still to go")


def _told(body: Json) -> str:
    metadata = body["metadata"]
    return f"{body['kind']} {metadata['namespace']}/{metadata['name']}"
