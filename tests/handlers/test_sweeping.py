"""What went untold is noticed: soon where a watch has broken, and else now and then."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sluice.errors import ClusterUnavailable
from sluice.handlers.sweeping import EVERY, PER_OBJECT, Sweeper
from sluice.ports import STREAM_JOBS, Json
from tests.support.cluster import MemoryCluster
from tests.support.jobs import resource
from tests.support.virtual_time import in_virtual_time


@dataclass
class World:
    """A sweeper of jobs, and the names of those that it told of as gone."""

    cluster: MemoryCluster = field(default_factory=MemoryCluster)
    gone: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sweeper = Sweeper(self.cluster, (), {STREAM_JOBS: self._note})

    def _note(self, body: Json) -> None:
        self.gone.append(body["metadata"]["name"])

    def have(self, name: str, *, listed: bool = False) -> None:
        """A job that is there and was seen."""
        body = resource()
        body["metadata"] |= {"name": name, "uid": f"uid-of-{name}"}
        self.sweeper.see(STREAM_JOBS, self.cluster.put(STREAM_JOBS, body), listed=listed)

    def have_a_large_fleet(self) -> None:
        """So many jobs, from job-0 on, that they are listed at each fourth look only."""
        for number in range(round(3.5 * EVERY / PER_OBJECT)):
            self.have(f"job-{number}")

    def lose(self, name: str) -> None:
        """The job goes, and no watch tells it."""
        self.cluster.remove(STREAM_JOBS, "shop", name)


@asynccontextmanager
async def sweeping() -> AsyncIterator[World]:
    """A sweeper that runs."""
    world = World()
    task = asyncio.create_task(world.sweeper.run())
    try:
        yield world
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@in_virtual_time
async def test_in_a_small_fleet_what_went_untold_is_noticed_at_the_next_look() -> None:
    async with sweeping() as here:
        here.have("clicks")
        here.have("views")
        here.lose("clicks")
        await asyncio.sleep(EVERY + 1)
        assert here.gone == ["clicks"]


@in_virtual_time
async def test_a_large_fleet_is_listed_as_often_as_its_size_allows() -> None:
    async with sweeping() as here:
        here.have_a_large_fleet()
        here.lose("job-7")
        await asyncio.sleep(3 * EVERY + 1)
        assert here.gone == []
        await asyncio.sleep(EVERY)
        assert here.gone == ["job-7"]


@in_virtual_time
async def test_after_a_watch_was_begun_anew_even_a_large_fleet_is_listed_soon_and_once() -> None:
    async with sweeping() as here:
        here.have_a_large_fleet()
        here.lose("job-7")
        here.have("job-8", listed=True)
        await asyncio.sleep(EVERY + 1)
        assert here.gone == ["job-7"]
        here.lose("job-9")
        await asyncio.sleep(EVERY)
        assert here.gone == ["job-7"]


@in_virtual_time
async def test_a_look_that_was_due_and_got_no_answer_is_soon_made_again() -> None:
    async with sweeping() as here:
        here.have_a_large_fleet()
        here.lose("job-7")
        here.have("job-8", listed=True)
        here.cluster.refuse("list", STREAM_JOBS, ClusterUnavailable("no answer in time"))
        await asyncio.sleep(EVERY + 1)
        assert here.gone == []
        await asyncio.sleep(EVERY)
        assert here.gone == ["job-7"]


@in_virtual_time
async def test_what_a_watch_has_told_is_not_told_again() -> None:
    async with sweeping() as here:
        here.have("clicks")
        here.sweeper.forget(STREAM_JOBS, here.cluster.remove(STREAM_JOBS, "shop", "clicks"))
        await asyncio.sleep(EVERY + 1)
        assert here.gone == []
