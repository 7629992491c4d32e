"""Serve the operator's metrics to Prometheus.

In a thread of its own, because the metrics of thousands of jobs take most of a second to write; one scrape at a time,
and one metric after the other, so that they take little memory. Each scrape asks the event loop first: where that
hangs, the scrape fails, and an alert can tell.
"""

import asyncio
import logging
import socket
import socketserver
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from sluice.adapters.listening import listening

log = logging.getLogger(__name__)

LOOP_DEADLINE = 5.0
CLIENT_DEADLINE = 10.0


class MetricsServer:
    """GET /metrics on a port. Use it as an async context manager; `refresh` runs before each scrape."""

    def __init__(
        self,
        registry: CollectorRegistry,
        refresh: Callable[[], Awaitable[None]],
        *,
        port: int,
    ) -> None:
        self._registry = registry
        self._refresh = refresh
        self._port = port

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        handler = partial(_Handler, self._registry, partial(self._refresh_in, loop))
        self._server = _Server(listening(self._port), handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        # Not in the loop itself: a scrape in progress may just be asking it.
        await asyncio.to_thread(self._server.shutdown)
        self._server.server_close()

    def _refresh_in(self, loop: asyncio.AbstractEventLoop) -> None:
        async def refresh() -> None:
            await self._refresh()

        asyncio.run_coroutine_threadsafe(refresh(), loop).result(LOOP_DEADLINE)


class _Server(socketserver.TCPServer):
    def __init__(
        self, listens: socket.socket, handler: Callable[..., BaseHTTPRequestHandler]
    ) -> None:
        super().__init__(listens.getsockname(), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listens

    def handle_error(self, *_: Any) -> None:
        """A client that goes away, or takes too long, is no news; anything else is a bug."""
        went_away = isinstance(sys.exception(), OSError)
        log.log(logging.DEBUG if went_away else logging.ERROR, "a scrape failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = CLIENT_DEADLINE

    def __init__(
        self, registry: CollectorRegistry, refresh: Callable[[], None], *arguments: Any
    ) -> None:
        self._registry = registry
        self._refresh = refresh
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Answer /metrics."""
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(HTTPStatus.NOT_FOUND, "There is only /metrics")
            return
        try:
            self._refresh()
        except TimeoutError:
            told = f"The event loop has not answered within {LOOP_DEADLINE:g} s"
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, told)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", CONTENT_TYPE_PLAIN_0_0_4)
        self.send_header("Connection", "close")
        # In chunks, of which the last says so: else half an answer would pass for a whole one.
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for family in self._registry.collect():
            self._write_chunk(generate_latest(_Only(family)))
        self._write_chunk(b"")

    def _write_chunk(self, text: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Scrapes are too many to log."""
        log.debug(format, *arguments)


class _Only(Collector):
    """One metric, as a registry that can be written."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> list[Metric]:
        return [self._family]
