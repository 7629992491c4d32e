"""Events are told as kubectl lists them."""

from sluice.core.application import JobKey
from sluice.core.news import News
from sluice.ports import EVENTS
from sluice.services.telling import announce
from tests.support.cluster import MemoryCluster
from tests.support.virtual_time import VirtualClock, in_virtual_time


async def told(message: str) -> str:
    """The message of the Event."""
    cluster, item = MemoryCluster(), News(reason="DriverFailed", message=message, is_warning=True)
    await announce(cluster, VirtualClock(), "StreamJob", JobKey("shop", "clicks"), "uid", item)
    (event,) = [call.body for call in cluster.calls if call.plural == EVENTS.plural]
    found: str = event["message"]
    return found


@in_virtual_time
async def test_news_of_several_lines_are_one_line() -> None:
    assert (
        await told("boom:\n  File x, line 5\n\nValueError: 7")
        == "boom: File x, line 5 ValueError: 7"
    )


@in_virtual_time
async def test_long_news_keep_their_remedy() -> None:
    long = await told("It failed: " + "x" * 5000 + " Raise the memory.")
    assert long.startswith("It failed: x")
    assert long.endswith("x Raise the memory.")
    assert len(long) == 1024 - 1  # two halves of an odd number
    assert await told("y" * 1024) == "y" * 1024
