"""Tell the kubelet that the operator is alive, which it is as long as its event loop answers.

kopf can do that, but it takes one address and listens on one family: IPv4 or IPv6, whatever the pod has.
"""

from typing import Self

from aiohttp import web

from sluice.adapters.listening import listening


class HealthServer:
    """GET /healthz on a port of all addresses. Use it as an async context manager."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/healthz", _alive)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, listening(self._port)).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()


async def _alive(_: web.Request) -> web.Response:
    return web.Response(text="alive\n")
