"""A Prometheus-compatible server, asked in worker threads because its client blocks.

Each question has a deadline and a largest answer, whatever the server does: one that drips, or that would
send a million series, costs a thread for a moment and no more.
"""

import asyncio
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Self

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth
from urllib3.util.retry import Retry

from sluice.errors import MetricsUnavailable
from sluice.ports import Labelled

_TROUBLE = (requests.RequestException, PrometheusApiClientException, OSError)
_STRANGE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)

_OF_THE_QUESTION = "PromQL "
"""How Prometheus begins what it notes of an expression, such as that a metric might be no counter."""

_LOGIN = re.compile(r"//[^/]*@")
"""Of an address, before its host."""

Look = Callable[..., None]
"""Looks at an answer as it came, of which the client tells only the series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a server is and how it is spoken to.

    `login` is a folder, such as a mounted Secret, with a file `token`, or with `username` and `password`; it is read
    for each question, so whoever renews it need not tell us. `headers` are for servers of several tenants, such as
    X-Scope-OrgID. Bounds are in seconds, bytes and series.
    """

    url: str
    login: Path | None = None
    authority_file: Path | None = None
    headers: tuple[tuple[str, str], ...] = ()
    deadline: float = 10.0
    largest: int = 32 * 2**20
    most_series: int = 20_000


@dataclass(slots=True)
class PrometheusServer:
    """A client of one server. Use it as an async context manager."""

    endpoint: Endpoint
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(2, thread_name_prefix="prometheus")
    )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def now(self, query: str) -> list[Labelled]:
        """The value of each series at the server's own present moment: of all that there are, or none is told."""
        return _read(
            await self._ask(
                lambda server: server.custom_query(query, self._bounds()), look=_refuse_part
            )
        )

    async def history(
        self, query: str, start: datetime, end: datetime, step: timedelta
    ) -> list[Labelled]:
        """The values of each series from start to end; those that a server cannot find just now are gaps."""
        width = f"{step.total_seconds():g}"
        return _read(
            await self._ask(
                lambda server: server.custom_query_range(query, start, end, width, self._bounds())
            )
        )

    def _bounds(self) -> dict[str, Any]:
        one = self.endpoint
        return {"timeout": f"{one.deadline:g}s", "limit": one.most_series}

    async def _ask(
        self, question: Callable[[PrometheusConnect], Any], *, look: Look | None = None
    ) -> Any:
        loop, patience = asyncio.get_running_loop(), 2 * self.endpoint.deadline
        try:
            answering = loop.run_in_executor(self._threads, self._answer, question, look)
            return await asyncio.wait_for(answering, patience)
        except TimeoutError as error:
            raise MetricsUnavailable(f"{self._name}: no answer within {patience:g} s") from error
        except _TROUBLE as error:
            raise MetricsUnavailable(f"{self._name}: {_in_short(error)}") from error
        except _STRANGE as error:
            raise MetricsUnavailable(f"{self._name}: not an answer of Prometheus") from error

    @property
    def _name(self) -> str:
        # It stands in the status of every job, which more people may read than a password in the address is for.
        return f"Prometheus at {_LOGIN.sub('//', self.endpoint.url)}"

    def _answer(self, question: Callable[[PrometheusConnect], Any], look: Look | None) -> Any:
        with requests.Session() as session:
            if look is not None:
                session.hooks["response"].append(look)
            return question(self._server(session))

    def _server(self, session: requests.Session) -> PrometheusConnect:
        one = self.endpoint
        # Neither a .netrc, a proxy of the machine nor a redirect may decide who is asked, and as whom.
        session.trust_env = False
        session.max_redirects = 0
        session.verify = str(one.authority_file) if one.authority_file else True
        server = PrometheusConnect(
            url=one.url.rstrip("/"),
            headers=dict(one.headers),
            auth=_login(one.login) if one.login is not None else None,
            session=session,
            retry=Retry(0),
            timeout=one.deadline,
            method="POST",
        )
        session.mount(one.url, _Bounded(one.deadline, one.largest))
        return server


def _refuse_part(answer: requests.Response, **_: Any) -> None:
    """Raise RequestException for an answer with warnings, which lacks something.

    A server that asks others, such as Thanos, goes on without those that are away, and one that has found too many
    series tells as many as we take. What is summed up of a part would pass for that of the whole. Where a server notes
    among these what it thinks of the question, nothing is missing.
    """
    if answer.ok and b'"warnings"' in answer.content:
        for told in answer.json().get("warnings") or ():
            if not str(told).startswith(_OF_THE_QUESTION):
                raise requests.RequestException(f"a part of the answer is missing: {told}")


def _login(folder: Path) -> AuthBase:
    token = folder / "token"
    if token.exists():
        return _Bearer(token.read_text().strip())
    user, password = (folder / name for name in ("username", "password"))
    return HTTPBasicAuth(user.read_text().strip(), password.read_text().strip())


class _Bearer(AuthBase):
    """Adds a token to a request."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _Bounded(HTTPAdapter):
    """Ends an answer that takes too long as a whole, or is too large."""

    def __init__(self, deadline: float, largest: int) -> None:
        super().__init__(max_retries=0)
        self._deadline = deadline
        self._largest = largest

    def send(self, request: requests.PreparedRequest, *args: Any, **named: Any) -> Any:
        until = time.perf_counter() + self._deadline
        response = super().send(request, *args, **named)
        response.raw = _Capped(response.raw, until, self._largest)
        return response


class _Capped:
    """The body of an answer, as far as its bounds go."""

    def __init__(self, raw: Any, until: float, largest: int) -> None:
        self._raw = raw
        self._until = until
        self._largest = largest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, *args: Any, **named: Any) -> Iterator[bytes]:
        """The body as it comes: to wait for a chunk to be full would be to wait for a server that drips."""
        size = 0
        for chunk in iter(partial(self._raw.read1, *args, **named), b""):
            size += len(chunk)
            if size > self._largest:
                self._raw.close()
                raise requests.RequestException(f"an answer of more than {self._largest} bytes")
            if time.perf_counter() > self._until:
                self._raw.close()
                raise requests.Timeout("the answer did not end in time")
            yield chunk


def _read(result: Any) -> list[Labelled]:
    """Series with at least one finite sample; NaN and infinity are no measurements."""
    try:
        series = [_series(one) for one in result]
    except _STRANGE as error:
        raise MetricsUnavailable(f"Prometheus answered something else: {error!r}") from error
    return [one for one in series if one.samples]


def _series(one: dict[str, Any]) -> Labelled:
    pairs: Sequence[Any] = one["values"] if "values" in one else [one["value"]]
    samples = ((float(moment), float(value)) for moment, value in pairs)
    return Labelled(
        labels=dict(one["metric"]),
        samples=tuple(
            (datetime.fromtimestamp(moment, UTC), value)
            for moment, value in samples
            if math.isfinite(value)
        ),
    )


def _in_short(error: BaseException) -> str:
    """One line: errors of HTTP libraries carry whole pages."""
    return " ".join(str(error).split())[:300] or type(error).__name__
