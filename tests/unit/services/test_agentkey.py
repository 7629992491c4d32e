"""The operator's own secret is made once and found again."""

from typing import Any

from sluice.errors import NotFound
from sluice.ports import SECRETS, Resource
from sluice.services.agentkey import NAME, agent_key
from tests.support.cluster import MemoryCluster


async def test_the_first_operator_makes_it_and_the_next_finds_it() -> None:
    cluster = MemoryCluster()
    assert await agent_key(cluster, "home", b"first") == b"first"
    assert await agent_key(cluster, "home", b"second") == b"first"
    assert cluster.writes == [f"create secrets/{NAME}"]


async def test_of_two_that_make_it_together_the_stored_one_counts() -> None:
    class Late(MemoryCluster):
        """The secret appears between the first look and the creation."""

        async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
            try:
                return await super().get(resource, namespace, name)
            except NotFound:
                await agent_key(rival, namespace, b"rival")
                raise

    rival, cluster = MemoryCluster(), Late()
    cluster.share(rival)
    assert await agent_key(cluster, "home", b"ours") == b"rival"
    assert cluster.stored(SECRETS, NAME, "home") is not None
