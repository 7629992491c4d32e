"""The operator's metrics over HTTP: a slow or broken loop, strange clients, and bugs."""

import asyncio
import logging
import socket
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.registry import Collector

from sluice.adapters import metrics
from sluice.adapters.metrics import MetricsServer


class Scraped(NamedTuple):
    code: int
    headers: Mapping[str, str]
    text: str


class Broken(Collector):
    def collect(self) -> Iterator[Metric]:
        raise RuntimeError("a bug")


def serving(registry: CollectorRegistry, asked: list[str] | None = None) -> MetricsServer:
    async def refresh() -> None:
        if asked is not None:
            asked.append("refreshed")

    return MetricsServer(registry, refresh, port=0)


def counted() -> CollectorRegistry:
    registry = CollectorRegistry()
    for name in ("one", "two"):
        Counter(name, f"number {name}", registry=registry).inc()
    return registry


async def get(server: MetricsServer, path: str = "/metrics") -> Scraped:
    address = f"http://127.0.0.1:{server.port}{path}"
    async with aiohttp.ClientSession() as client, client.get(address) as answer:
        return Scraped(answer.status, answer.headers, await answer.text())


async def test_a_scrape_gets_every_metric_in_prometheus_text_format() -> None:
    async with serving(counted()) as server:
        answer = await get(server)

    assert answer.code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert {"one_total 1.0", "two_total 1.0", "# TYPE two_total counter"} <= set(
        answer.text.splitlines()
    )


async def test_each_scrape_asks_the_loop_first() -> None:
    asked: list[str] = []
    async with serving(counted(), asked) as server:
        await get(server)
        await get(server, "/metrics?name=one")
    assert len(asked) == 2


async def test_a_loop_that_hangs_fails_the_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "LOOP_DEADLINE", 0.05)

    async def never() -> None:
        await asyncio.sleep(3600)

    async with MetricsServer(counted(), never, port=0) as server:
        answer = await get(server)
    assert answer.code == 503
    assert "has not answered within 0.05 s" in answer.text


async def test_there_is_nothing_but_metrics() -> None:
    async with serving(counted()) as server:
        assert (await get(server, "/")).code == 404


async def test_a_client_that_only_connects_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sluice.adapters.metrics._Handler.timeout", 0.05)
    async with serving(counted()) as server:
        with socket.create_connection(("127.0.0.1", server.port)):
            assert (await get(server)).code == 200


async def test_a_bug_in_a_metric_is_logged_and_ends_that_scrape_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry = counted()
    broken = Broken()
    registry.register(broken)
    async with serving(registry) as server:
        with caplog.at_level(logging.ERROR), pytest.raises(aiohttp.ClientError):
            await get(server)
        registry.unregister(broken)
        assert (await get(server)).code == 200
    assert "a scrape failed" in caplog.text
