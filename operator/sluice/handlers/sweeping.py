"""Notice what went while no watch was there to tell.

When the API server has forgotten where a watch stood (after its restart, for one), kopf lists everything and
watches anew; nothing is told of what was deleted in between. A driver that went then would be waited for for ever.
Where kopf has listed anything, everything is listed here, too; and else now and then, for an empty list tells nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sluice.errors import SluiceError
from sluice.manifests import names
from sluice.manifests.interning import interned
from sluice.ports import PODS, STREAM_JOBS, STREAM_PROFILES, Cluster, Json, Resource

log = logging.getLogger(__name__)

EVERY = 120.0
"""Seconds between two lists of everything, at least."""

PER_OBJECT = 0.12
"""Seconds that each known object adds to that: for a large fleet, lists are the most expensive that a quiet operator
does. A new list of kopf's makes the next one due at once.
"""

_SELECTORS = {STREAM_JOBS: "", STREAM_PROFILES: "", PODS: names.JOB_LABEL}


class Sweeper:
    """Remembers what was seen, and calls `gone` with what is not there any more."""

    def __init__(
        self,
        cluster: Cluster,
        namespaces: Sequence[str],
        gone: Mapping[Resource, Callable[[Json], None]],
    ) -> None:
        self._cluster = cluster
        self._listed: Sequence[str | None] = namespaces or (None,)
        self._gone = gone
        self._known: dict[Resource, dict[str, Json]] = {resource: {} for resource in gone}
        self._was_listed = False

    def see(self, resource: Resource, body: Mapping[str, Any], *, listed: bool = False) -> None:
        """Something is there; `listed` if a list has told it, not a watch."""
        metadata = body["metadata"]
        kept = ("namespace", "name", "uid", "labels")
        slim = {"metadata": {name: metadata[name] for name in kept if name in metadata}}
        self._known[resource][metadata["uid"]] = interned(slim)
        self._was_listed |= listed

    def forget(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """Something has gone, as a watch told."""
        self._known[resource].pop(body["metadata"]["uid"], None)

    async def run(self) -> None:
        """Look again and again until cancelled."""
        waited = 0.0
        while True:
            await asyncio.sleep(EVERY)
            waited += EVERY
            if not self._was_listed and waited < PER_OBJECT * sum(map(len, self._known.values())):
                continue
            waited, was_listed, self._was_listed = 0.0, self._was_listed, False
            try:
                for resource in self._known:
                    await self._sweep(resource)
            except SluiceError as error:
                log.warning("cannot look for what has gone: %s", error)
                # As after an outage that is not over: what went in it is to be noticed soon, however large the fleet.
                self._was_listed |= was_listed

    async def _sweep(self, resource: Resource) -> None:
        # What comes while the lists are read is not on them and has not gone.
        before = dict(self._known[resource])
        if not before:
            # Nor is a kind asked for that the cluster may not serve.
            return
        there: set[str] = set()
        for namespace in self._listed:
            listed = self._cluster.each(
                resource, namespace, selector=_SELECTORS[resource], metadata_only=True
            )
            async for body in listed:
                there.add(body["metadata"]["uid"])
        for uid, body in before.items():
            if uid not in there and self._known[resource].pop(uid, None) is not None:
                log.info("%s %s has gone untold", resource.plural, body["metadata"]["name"])
                self._gone[resource](body)
