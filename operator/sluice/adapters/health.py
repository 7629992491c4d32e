"""Tell the kubelet that the operator is alive, which it is as long as its event loop answers, and whether it is ready.

kopf can do that, but it takes one address and listens on one family: IPv4 or IPv6, whatever the pod has.
"""

from typing import Self

from aiohttp import web

from sluice.adapters.listening import listening


class HealthServer:
    """GET /healthz and /readyz on a port of all addresses. Use it as an async context manager."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.is_ready = False

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/healthz", _alive)
        app.router.add_get("/readyz", self._readiness)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, listening(self._port)).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _readiness(self, _: web.Request) -> web.Response:
        if self.is_ready:
            return web.Response(text="ready\n")
        return web.Response(
            status=503, text="not ready: the operator's log says what it waits for\n"
        )


async def _alive(_: web.Request) -> web.Response:
    return web.Response(text="alive\n")
