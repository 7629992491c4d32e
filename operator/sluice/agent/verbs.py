"""What the agent answers over HTTP, as a function from request to response; the sockets are in `server`.

The verbs under /v1 are for the operator and need its token. None of them runs code that it was sent.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sluice.agent import bodies, executors, exposition, snapshot, state
from sluice.agent.bodies import RefusedError
from sluice.agent.limits import CannotLimitError, Limiter
from sluice.agent.polling import Poller
from sluice.agent.spark import Spark
from sluice.agent.stopping import Stopping

LONGEST_BODY = 4096


@dataclass(frozen=True)
class Request:
    """One HTTP request."""

    method: str
    path: str
    authorization: str = ""
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    """One HTTP response."""

    status: int
    content_type: str
    body: bytes


class Verbs:
    """The fixed list of what can be asked."""

    def __init__(self, poller: Poller, spark: Spark, stopping: Stopping, token_file: str) -> None:
        self._poller = poller
        self._spark = spark
        self._stopping = stopping
        self._token_file = token_file
        self._limiter = Limiter()
        self._routes: Mapping[str, tuple[str, Callable[[bytes], Response]]] = {
            "/healthz": ("GET", self._health),
            "/metrics": ("GET", self._metrics),
            "/v1/state": ("GET", self._state),
            "/v1/stop": ("POST", self._stop),
            "/v1/executors": ("POST", self._scale),
            "/v1/decommission": ("POST", self._decommission),
            "/v1/limits": ("POST", self._limit),
        }

    def answer(self, request: Request) -> Response:
        """Answer one request; a refusal says what was wrong."""
        try:
            return self._routed(request)
        except RefusedError as refusal:
            return _json(refusal.status, {"error": str(refusal)})

    def _routed(self, request: Request) -> Response:
        path = request.path.partition("?")[0]
        if path.startswith("/v1/"):
            self._authorize(request.authorization)
        if path not in self._routes:
            raise RefusedError(404, f"no such path {path!r}; there are {', '.join(self._routes)}")
        method, verb = self._routes[path]
        if request.method != method:
            raise RefusedError(405, f"{path} is asked with {method}, not {request.method}")
        return verb(request.body)

    def _authorize(self, authorization: str) -> None:
        token = self._token()
        if not token:
            raise RefusedError(403, "no token is configured: set SLUICE_AGENT_TOKEN_FILE")
        if not hmac.compare_digest(authorization.encode(), b"Bearer " + token):
            raise RefusedError(
                401, "the header 'Authorization: Bearer TOKEN' lacks the job's token"
            )

    def _token(self) -> bytes:
        # Read each time: the kubelet renews a mounted Secret in place.
        if not self._token_file:
            return b""
        try:
            with open(self._token_file, "rb") as file:
                return file.read().strip()
        except OSError as error:
            raise RefusedError(403, f"the token file cannot be read: {error}") from error

    def _health(self, _: bytes) -> Response:
        if not self._poller.is_alive():
            raise RefusedError(503, "the agent's loop has not turned for 30 seconds")
        return _json(200, {"status": "ok"})

    def _metrics(self, _: bytes) -> Response:
        text = exposition.render(self._poller.snapshot, time.time())
        return Response(200, exposition.CONTENT_TYPE, text.encode())

    def _state(self, _: bytes) -> Response:
        return _json(200, state.document(self._poller.snapshot, time.time()))

    def _stop(self, _: bytes) -> Response:
        self._stopping.request("asked by the operator")
        return _json(202, {"phase": snapshot.STOPPING})

    def _scale(self, body: bytes) -> Response:
        target = bodies.target(body)
        context = self._context()
        try:
            victims = executors.scale(context, target)
        except executors.CannotScaleError as error:
            raise RefusedError(409, str(error)) from error
        self._poller.set_target(target)
        self._poller.note_retired(context, victims)
        registered = len(executors.registered(context))
        answer = {"target": target, "registered": registered, "decommissioning": list(victims)}
        return _json(200, answer)

    def _decommission(self, body: bytes) -> Response:
        ids = bodies.executors(body)
        context = self._context()
        try:
            victims = executors.replace(context, ids)
        except executors.CannotScaleError as error:
            raise RefusedError(409, str(error)) from error
        self._poller.note_retired(context, victims)
        return _json(200, {"decommissioning": list(victims)})

    def _limit(self, body: bytes) -> Response:
        name, wanted = bodies.limits(body)
        query = self._spark.query_named(name)
        if query is None:
            raise RefusedError(409, f"there is not just one running query {name!r}")
        try:
            pace = self._limiter.limit(self._context()._jvm, query, wanted)
        except CannotLimitError as error:
            raise RefusedError(409, f"query {name!r} cannot be limited: {error}") from error
        return _json(
            200,
            {"query": name, "mostRows": pace.most_rows, "triggerSeconds": pace.trigger_seconds},
        )

    def _context(self) -> Any:
        context = self._spark.context()
        if context is None:
            raise RefusedError(409, "there is no running SparkContext yet; ask again later")
        return context


def _json(status: int, document: Mapping[str, Any]) -> Response:
    return Response(status, "application/json", json.dumps(document).encode() + b"\n")
