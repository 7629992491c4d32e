"""A namespace that was deleted keeps nobody from the jobs of the others."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sluice.errors import ClusterUnavailable, NotAllowed, NotFound, SluiceError
from sluice.handlers.namespaces import ASK_AGAIN, listable, one_returns
from sluice.ports import Json, Resource
from tests.support.cluster import MemoryCluster
from tests.support.virtual_time import in_virtual_time


class Partly(MemoryCluster):
    """A cluster that does not list some namespaces."""

    def __init__(self, **refusals: SluiceError) -> None:
        super().__init__()
        self.refusals = refusals

    async def each(
        self, resource: Resource, namespace: str | None, **options: Any
    ) -> AsyncIterator[Json]:
        if namespace in self.refusals:
            raise self.refusals[namespace]
        async for body in super().each(resource, namespace, **options):
            yield body


FORBIDDEN = NotAllowed('streamjobs is forbidden: User "sluice" cannot list in the namespace "b"')


@in_virtual_time
async def test_a_namespace_that_may_not_be_listed_is_left_out_with_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Partly(b=FORBIDDEN)
    assert await listable(cluster, ("a", "b", "c")) == ("a", "c")
    assert "namespace b is looked after" in caplog.text
    assert "watchNamespaces" in caplog.text


@in_virtual_time
async def test_where_none_may_be_listed_all_are_asked_for_as_before() -> None:
    assert await listable(Partly(a=FORBIDDEN, b=FORBIDDEN), ("a", "b")) == ("a", "b")
    assert await listable(Partly(), ()) == ()


@in_virtual_time
@pytest.mark.parametrize("error", [ClusterUnavailable("timeout"), NotFound("no StreamJobs")])
async def test_a_cluster_that_does_not_answer_says_nothing_of_a_namespace(
    error: SluiceError,
) -> None:
    assert await listable(Partly(b=error), ("a", "b")) == ("a", "b")


@in_virtual_time
async def test_one_that_comes_back_is_noticed_and_an_outage_is_no_return() -> None:
    cluster = Partly(b=FORBIDDEN, c=FORBIDDEN)
    waiting = asyncio.create_task(one_returns(cluster, ("b", "c")))
    await asyncio.sleep(10 * ASK_AGAIN)
    cluster.refusals["c"] = ClusterUnavailable("timeout")
    await asyncio.sleep(10 * ASK_AGAIN)
    assert not waiting.done()
    del cluster.refusals["c"]
    await asyncio.sleep(ASK_AGAIN + 1)
    assert waiting.result() == "c"
