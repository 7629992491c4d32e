"""The Kubernetes API with each request measured."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from sluice.ports import PODS, Cluster, Json, Resource
from sluice.services.metrics.instruments import Instruments


class MeasuredCluster:
    """A `Cluster` that counts and times what is asked of another one."""

    def __init__(self, cluster: Cluster, instruments: Instruments) -> None:
        self._cluster = cluster
        self._instruments = instruments

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """Read an object live."""
        with self._instruments.requesting("get", resource.plural):
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
        """Read all objects, counted once whatever the number of pages and with the time that the reader takes."""
        with self._instruments.requesting("list", resource.plural):
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
        with self._instruments.requesting("create", resource.plural):
            return await self._cluster.create(resource, body)

    async def rehearse(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """Find out whether an object would be created."""
        with self._instruments.requesting("rehearse", resource.plural):
            await self._cluster.rehearse(resource, body)

    async def replace(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Replace an object of the same resourceVersion."""
        with self._instruments.requesting("replace", resource.plural):
            return await self._cluster.replace(resource, body)

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Json:
        """Apply an object or its subresource."""
        with self._instruments.requesting("apply", resource.plural):
            return await self._cluster.apply(resource, body, subresource=subresource)

    async def amend(
        self, resource: Resource, body: Mapping[str, Any], *, tests: Mapping[str, object]
    ) -> bool:
        """Replace parts of an object that passes tests."""
        with self._instruments.requesting("amend", resource.plural):
            return await self._cluster.amend(resource, body, tests=tests)

    async def resize(self, body: Mapping[str, Any]) -> Json:
        """Change the resources of a running pod."""
        with self._instruments.requesting("resize", PODS.plural):
            return await self._cluster.resize(body)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, by_force: bool = False
    ) -> None:
        """Delete the object of that uid."""
        with self._instruments.requesting("delete", resource.plural):
            await self._cluster.delete(resource, namespace, name, uid=uid, by_force=by_force)
