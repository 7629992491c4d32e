"""The Kubernetes API for the leader alone: every write asks first whether this process still leads.

A look at a job takes several calls; leadership can end between any two of them.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from sluice.errors import ClusterUnavailable
from sluice.ports import PODS, Cluster, Json, Resource
from sluice.services.leadership import Leadership


class LeaderOnly:
    """A `Cluster` whose writes raise ClusterUnavailable in a process that does not lead."""

    def __init__(self, cluster: Cluster, leadership: Leadership) -> None:
        self._cluster = cluster
        self._leadership = leadership

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """Read an object live."""
        return await self._cluster.get(resource, namespace, name)

    async def each(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        selector: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> AsyncIterator[Json]:
        """Read all objects."""
        async for body in self._cluster.each(
            resource,
            namespace,
            selector=selector,
            fields=fields,
            metadata_only=metadata_only,
        ):
            yield body

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Create an object."""
        self._check(resource)
        return await self._cluster.create(resource, body)

    async def rehearse(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """Find out whether an object would be created, which changes nothing."""
        await self._cluster.rehearse(resource, body)

    async def replace(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Replace an object."""
        self._check(resource)
        return await self._cluster.replace(resource, body)

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Json:
        """Apply an object or its subresource."""
        self._check(resource)
        return await self._cluster.apply(resource, body, subresource=subresource)

    async def amend(
        self, resource: Resource, body: Mapping[str, Any], *, tests: Mapping[str, object]
    ) -> bool:
        """Replace parts of an object that passes tests."""
        self._check(resource)
        return await self._cluster.amend(resource, body, tests=tests)

    async def resize(self, body: Mapping[str, Any]) -> Json:
        """Change the resources of a running pod."""
        self._check(PODS)
        return await self._cluster.resize(body)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, by_force: bool = False
    ) -> None:
        """Delete an object."""
        self._check(resource)
        await self._cluster.delete(resource, namespace, name, uid=uid, by_force=by_force)

    def _check(self, resource: Resource) -> None:
        if not self._leadership.is_held:
            raise ClusterUnavailable(
                f"not the leader: {resource.plural} are another operator's to write"
            )
