"""Wait until the API server takes our kinds as this version writes them.

kopf looks once which kinds there are, and would not watch what comes later. And a status with a field that the served
definitions lack is refused as a whole: whoever upgrades the operator and forgets the CRDs is told at once, not when a
job has such a field for the first time.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from sluice.adapters.kubernetes import KubernetesCluster
from sluice.api.crds import KINDS, lacking, object_schema
from sluice.core.hints import APPLY_CRDS
from sluice.errors import ClusterUnavailable, NotFound
from sluice.ports import STREAM_JOBS, Json

log = logging.getLogger(__name__)

ASK_AGAIN = 2.0
"""Seconds between two questions."""


async def wait_for_kinds(cluster: KubernetesCluster, namespaces: Sequence[str]) -> None:
    """Return once the kinds are served with all their fields; say what is missing each time that it is another."""
    told = None
    while (missing := await _missing(cluster, namespaces)) is not None:
        if missing != told:
            log.warning("%s", missing)
        told = missing
        await asyncio.sleep(ASK_AGAIN)


async def _missing(cluster: KubernetesCluster, namespaces: Sequence[str]) -> str | None:
    try:
        async for _ in cluster.each(
            STREAM_JOBS, namespaces[0] if namespaces else None, metadata_only=True
        ):
            break
        schemas = await cluster.schemas(STREAM_JOBS.api_version)
    except NotFound as error:
        return f"no StreamJobs are served; apply the CRDs: {APPLY_CRDS}; {error}"
    except ClusterUnavailable as error:
        return str(error)
    return _older(schemas)


def _older(schemas: Mapping[str, Json]) -> str | None:
    """What the schemas lack of our kinds. Without any nothing can be said, and a status that does not fit is told of
    when it is refused.
    """
    if not schemas:
        return None
    for kind in KINDS:
        place = lacking(object_schema(kind), schemas.get(kind.name, {}))
        if place is not None:
            return (
                f"the CRDs of the cluster are older than this operator: {kind.plural} have no {place}. No job is "
                f"looked after until they are brought up to it: {APPLY_CRDS}"
            )
    return None
