"""Which of the namespaces that the operator is to watch it may list.

One that is deleted takes the operator's rights in it along. kopf ends the process over that, and would do so again and
again: no job in any other namespace would be looked after.
"""

import asyncio
import logging
from collections.abc import Sequence

from sluice.errors import NotAllowed, SluiceError
from sluice.ports import STREAM_JOBS, Cluster

log = logging.getLogger(__name__)

ASK_AGAIN = 30.0
"""Seconds between two questions whether a namespace that was left out may be listed by now."""


async def listable(cluster: Cluster, namespaces: Sequence[str]) -> tuple[str, ...]:
    """Those whose StreamJobs may be listed; all of them if none may, for then it is not about one of them."""
    refused = {}
    for namespace in namespaces:
        try:
            await _list(cluster, namespace)
        except NotAllowed as error:
            refused[namespace] = str(error)
        except SluiceError:
            # Whether the API server answers, and serves our kinds, is waited for elsewhere.
            continue
    if len(refused) == len(namespaces):
        return tuple(namespaces)
    for namespace, refusal in refused.items():
        log.warning(
            "no job in the namespace %s is looked after until its StreamJobs may be listed; if it was deleted, take it "
            "from watchNamespaces: %s",
            namespace,
            refusal,
        )
    return tuple(namespace for namespace in namespaces if namespace not in refused)


async def one_returns(cluster: Cluster, left_out: Sequence[str]) -> str:
    """Wait until one that was left out may be listed; its name."""
    while True:
        await asyncio.sleep(ASK_AGAIN)
        for namespace in left_out:
            try:
                await _list(cluster, namespace)
            except SluiceError:
                continue
            return namespace


async def _list(cluster: Cluster, namespace: str) -> None:
    async for _ in cluster.each(STREAM_JOBS, namespace, metadata_only=True):
        break
