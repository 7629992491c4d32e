"""An HTTP server on the loopback that answers from a list, and keeps what it was asked."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as it came."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """What was sent as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its code, its text, the headers besides the usual ones, and the seconds that it takes."""

    code: int
    text: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    after: float = 0.0


CUT_OFF = Answer(0)
"""No answer: the connection ends."""


def telling(content: object, code: int = 200) -> Answer:
    """An answer in JSON."""
    return Answer(code, json.dumps(content))


class Server:
    """A server for as long as its block runs; when its answers are used up, it gives an empty object."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.requests: list[Asked] = []
        self.was_asked = asyncio.Event()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def only(self) -> Asked:
        """The one request."""
        assert len(self.requests) == 1
        return self.requests[0]

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        self.requests.append(
            Asked(
                request.method,
                request.path,
                dict(request.query),
                request.headers.copy(),
                await request.read(),
            )
        )
        self.was_asked.set()
        answer = self._answers.pop(0) if self._answers else Answer(200)
        await asyncio.sleep(answer.after)
        if answer is CUT_OFF:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return web.Response(status=answer.code, text=answer.text, headers=answer.headers)
