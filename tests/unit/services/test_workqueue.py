"""A queue of keys: each at most once, by one worker at a time, perhaps later."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from sluice.errors import ClusterUnavailable, Conflict
from sluice.services.workqueue import WorkQueue
from tests.support.virtual_time import in_virtual_time

Work = Callable[[str], Awaitable[float | None]]


@asynccontextmanager
async def running(
    work: Work, *, workers: int = 4, declared: Callable[[str], object] = lambda _: None
) -> AsyncIterator[WorkQueue[str]]:
    """A queue at work."""
    queue = WorkQueue(work, declared=declared)
    task = asyncio.create_task(queue.run(workers))
    try:
        yield queue
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Log:
    """Work that notes when it was done; `answers` are what it returns or raises, in order."""

    def __init__(self, *answers: float | Exception | None, lasts: float = 0) -> None:
        self.times: list[tuple[str, float]] = []
        self.at_once = 0
        self._busy: set[str] = set()
        self._answers = list(answers)
        self._lasts = lasts

    async def __call__(self, key: str) -> float | None:
        assert key not in self._busy, "two workers on one key"
        self._busy.add(key)
        self.at_once = max(self.at_once, len(self._busy))
        self.times.append((key, round(asyncio.get_running_loop().time(), 3)))
        await asyncio.sleep(self._lasts)
        self._busy.discard(key)
        answer = self._answers.pop(0) if self._answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


@in_virtual_time
async def test_many_events_for_one_key_are_one_look() -> None:
    log = Log()
    async with running(log) as queue:
        for _ in range(100):
            queue.add("a")
        await asyncio.sleep(1)
    assert log.times == [("a", 0)]


@in_virtual_time
async def test_what_happens_during_a_look_leads_to_one_more() -> None:
    log = Log(lasts=1)
    async with running(log) as queue:
        queue.add("a")
        await asyncio.sleep(0.5)
        queue.add("a")
        queue.add("a")
        await asyncio.sleep(5)
    assert log.times == [("a", 0), ("a", 1)]


@in_virtual_time
async def test_different_keys_are_worked_on_together_by_so_many_workers() -> None:
    log = Log(lasts=1)
    async with running(log, workers=3) as queue:
        for key in "abcdef":
            queue.add(key)
        await asyncio.sleep(5)
    assert log.at_once == 3
    assert sorted(key for key, _ in log.times) == list("abcdef")


@in_virtual_time
async def test_a_look_may_ask_for_another_one_later() -> None:
    log = Log(10, 5)
    async with running(log) as queue:
        queue.add("a")
        await asyncio.sleep(60)
    assert [when for _, when in log.times] == [0, 10, 15]


@in_virtual_time
async def test_the_earlier_of_two_times_counts() -> None:
    log = Log()
    async with running(log) as queue:
        queue.add_after("a", 30)
        queue.add_after("a", 10)
        queue.add_after("a", 20)
        await asyncio.sleep(60)
    assert log.times == [("a", 10)]


@in_virtual_time
async def test_a_conflict_is_met_again_at_once_and_less_and_less_if_it_stays() -> None:
    log = Log(Conflict("b"), Conflict("b"), Conflict("b"), None, Conflict("b"))
    async with running(log) as queue:
        queue.add("a")
        await asyncio.sleep(1)
        queue.add("a")
        await asyncio.sleep(1)
    assert [when for _, when in log.times] == [0, 0.05, 0.15, 0.35, 1, 1.05]


@pytest.mark.parametrize("error", [ClusterUnavailable("away"), KeyError("bug")])
def test_failures_are_retried_ever_more_slowly(error: Exception) -> None:
    @in_virtual_time
    async def story() -> None:
        log = Log(*[error] * 10)
        async with running(log) as queue:
            queue.add("a")
            await asyncio.sleep(300)
        pauses = [
            later - sooner
            for (_, sooner), (_, later) in zip(log.times[:-1], log.times[1:], strict=True)
        ]
        assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]

    story()


@in_virtual_time
async def test_a_day_of_failures_is_survived() -> None:
    log = Log(*[ClusterUnavailable("away")] * 1500)
    async with running(log) as queue:
        queue.add("a")
        await asyncio.sleep(100_000)
    assert len(log.times) == 1501


@in_virtual_time
async def test_after_a_success_failures_are_forgotten() -> None:
    away = ClusterUnavailable("away")
    log = Log(away, away, None, away)
    async with running(log) as queue:
        queue.add("a")
        await asyncio.sleep(10)
        queue.add("a")
        await asyncio.sleep(10)
    assert [when for _, when in log.times] == [0, 0.5, 1.5, 10, 10.5]


@in_virtual_time
async def test_a_failing_key_holds_no_other_up() -> None:
    done: list[str] = []

    async def work(key: str) -> float | None:
        if key == "bad":
            raise RuntimeError("bug")
        done.append(key)
        return None

    async with running(work, workers=1) as queue:
        for key in ("bad", "good"):
            queue.add(key)
        await asyncio.sleep(1)
    assert done == ["good"]


@in_virtual_time
async def test_it_ends_even_if_something_is_to_be_looked_at_later_at_that_very_moment() -> None:
    for turns in range(5):
        async with running(Log()) as queue:
            queue.add_after("b", 100)
            await asyncio.sleep(1)
            queue.add_after("a", 5)
            for _ in range(turns):
                await asyncio.sleep(0)


@in_virtual_time
async def test_an_event_cuts_a_pause_short_only_if_something_else_is_declared() -> None:
    declared = {"a": object()}
    log = Log(ClusterUnavailable("away"))
    async with running(log, declared=declared.get) as queue:
        for _ in range(3):
            queue.add_if_changed("a")
            await asyncio.sleep(0.1)
        declared["a"] = object()
        for _ in range(20):
            queue.add_if_changed("a")
            await asyncio.sleep(0.1)
    assert [when for _, when in log.times] == [0, 0.3, 0.5]


@in_virtual_time
async def test_what_is_declared_during_a_look_leads_to_one_more() -> None:
    declared = {"a": object()}
    log = Log(lasts=1)
    async with running(log, declared=declared.get) as queue:
        queue.add("a")
        await asyncio.sleep(0.5)
        declared["a"] = object()
        queue.add_if_changed("a")
        await asyncio.sleep(5)
    assert log.times == [("a", 0), ("a", 1)]
