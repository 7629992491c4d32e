"""What the operator serves is reached by addresses of both families, as far as the kernel has them."""

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from sluice.adapters.health import HealthServer
from sluice.adapters.metrics import MetricsServer
from tests.support.ports import free_port


async def fresh() -> None:
    """Nothing has to be refreshed."""


def metrics(port: int) -> MetricsServer:
    return MetricsServer(CollectorRegistry(), fresh, port=port)


async def status(url: str) -> int:
    async with aiohttp.ClientSession() as client, client.get(url) as answer:
        return answer.status


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
@pytest.mark.parametrize(("serve", "path"), [(HealthServer, "healthz"), (metrics, "metrics")])
async def test_a_probe_and_a_scrape_may_come_by_ipv4_and_by_ipv6(
    serve: Callable[[int], AbstractAsyncContextManager[object]], path: str, host: str
) -> None:
    if host == "[::1]" and not socket.has_dualstack_ipv6():
        pytest.skip("this kernel has no IPv6")
    port = free_port()
    async with serve(port):
        assert await status(f"http://{host}:{port}/{path}") == 200


async def test_a_kernel_without_ipv6_is_served_by_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    port = free_port()
    async with HealthServer(port):
        assert await status(f"http://127.0.0.1:{port}/healthz") == 200
