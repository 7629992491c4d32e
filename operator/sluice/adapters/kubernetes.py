"""The Kubernetes API over HTTP: the few verbs that the services need, with our errors in place of status codes."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Self

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

from sluice.adapters.credentials import Credentials
from sluice.adapters.http import NO_ANSWER, is_success, why
from sluice.core.hints import APPLY_CRDS
from sluice.errors import (
    ClusterUnavailable,
    Conflict,
    Declined,
    InvalidSpec,
    NotAllowed,
    NotFound,
    Problem,
)
from sluice.ports import LEASES, PODS, Json, Resource

FIELD_MANAGER = "sluice"

_PAGE = 250
_JSON = {"Content-Type": "application/json"}
_METADATA_ONLY = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
_AMEND = {
    "Content-Type": "application/json-patch+json",
    # The answer to a patch has the whole object, and nobody here is to read a Secret.
    "Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
}
_APPLY = {"Content-Type": "application/apply-patch+yaml"}
_STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}

_MOST_TOLD = 2048
"""Characters of an answer that are told. A status with more than it may hold could not be written any more."""

_NO_SUCH_PATH = "could not find the requested resource"
"""What the API server says of a path that it does not serve; a missing object has its name in the answer."""

_UNFIT = "rejected our request due to an error in our request"
"""What it says of a patch that does not fit the object, because a test of it fails; what is wrong with the object that
would come of it is told by its fields.
"""

_DENIED = "denied the request"
"""What a refusal by a webhook has in it, whatever its code."""

_FORBIDDEN = "is forbidden: "
"""What other refusals have in them; with "user" after it, it is about who asks."""

_UNDECLARED = "field not declared in schema"
"""What it says of a field that its definitions of our kinds lack."""

_IDENTITY = frozenset(("apiVersion", "kind", "metadata"))
"""The parts of an object that say which one it is."""

ADMISSION = 10.0
"""Seconds more that a new object may take: so long the API server waits for a webhook of admission, if that does not
ask for another time. Its answer then says that nothing was made; a deadline of ours would leave that open.
"""


class KubernetesCluster:
    """A client of one API server. Use it as an async context manager."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        deadline: float = 10.0,
        connections: int = 16,
    ) -> None:
        self._credentials = credentials
        self._server = credentials.server.rstrip("/")
        self._deadline = ClientTimeout(total=deadline)
        self._creating = ClientTimeout(total=deadline + ADMISSION)
        # Who waits for a connection is not late yet: the time of a request begins with its turn.
        self._turns = asyncio.Semaphore(connections)

    async def __aenter__(self) -> Self:
        self._session = ClientSession(
            connector=TCPConnector(limit=0, ssl=self._credentials.tls()),
            cookie_jar=DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def schemas(self, api_version: str) -> Mapping[str, Json]:
        """The schemas of the kinds of a group and version; none where the API server does not publish them."""
        path = f"/openapi/v3/apis/{api_version}"
        try:
            document = await self._ask("GET", path, self._turns, deadline=self._deadline)
        except (NotFound, NotAllowed):
            return {}
        return {
            named[0]["kind"]: schema
            for schema in document["components"]["schemas"].values()
            if (named := schema.get("x-kubernetes-group-version-kind"))
        }

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """Read an object live. Raises NotFound."""
        return await self._call("GET", resource, namespace, name)

    async def each(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        selector: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> AsyncIterator[Json]:
        """Read all objects of a namespace, or of the cluster, with one page in memory at a time."""
        query = {"limit": str(_PAGE), "labelSelector": selector, "fieldSelector": fields}
        headers = _METADATA_ONLY if metadata_only else _JSON
        while True:
            page = await self._call("GET", resource, namespace, query=query, headers=headers)
            # Of metadata alone, no object is null and not an empty list.
            for body in page["items"] or ():
                yield body
            rest = page["metadata"].get("continue")
            if not rest:
                return
            query = {**query, "continue": rest}
            del page

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Create an object. Raises Conflict if one of that name exists."""
        namespace, query = body["metadata"].get("namespace"), {"fieldManager": FIELD_MANAGER}
        return await self._call("POST", resource, namespace, body=body, query=query)

    async def rehearse(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """Have the API server do all that comes before an object is stored: quotas, limits, Pod Security, webhooks."""
        query = {"fieldManager": FIELD_MANAGER, "dryRun": "All"}
        await self._call(
            "POST", resource, body["metadata"].get("namespace"), body=body, query=query
        )

    async def replace(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Replace an object of the same resourceVersion."""
        query = {"fieldManager": FIELD_MANAGER}
        return await self._call("PUT", resource, *_place(body), body=body, query=query)

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Json:
        """Apply an object, or one of its subresources, as the owner of the fields that it names."""
        place, query = _place(body), {"fieldManager": FIELD_MANAGER, "force": "true"}
        return await self._call(
            "PATCH", resource, *place, subresource, body=body, query=query, headers=_APPLY
        )

    async def amend(
        self, resource: Resource, body: Mapping[str, Any], *, tests: Mapping[str, object]
    ) -> bool:
        """Replace the parts that a body has in an object that passes the tests; whether it does."""
        parts = {f"/{part}": value for part, value in body.items() if part not in _IDENTITY}
        patch = [*_operations("test", tests), *_operations("add", parts)]
        place, query = _place(body), {"fieldManager": FIELD_MANAGER}
        try:
            await self._call("PATCH", resource, *place, body=patch, query=query, headers=_AMEND)
        except InvalidSpec as error:
            if _UNFIT not in str(error):
                raise
            return False
        return True

    async def resize(self, body: Mapping[str, Any]) -> Json:
        """Change the resources of the containers that a body names, while they run."""
        place, query = _place(body), {"fieldManager": FIELD_MANAGER}
        try:
            return await self._call(
                "PATCH", PODS, *place, "resize", body=body, query=query, headers=_STRATEGIC
            )
        except NotFound as error:
            if _NO_SUCH_PATH not in str(error):
                raise
            told = "the cluster cannot resize running pods; Kubernetes 1.33 and later can"
            raise InvalidSpec([Problem("pods/resize", None, told)]) from error

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, by_force: bool = False
    ) -> None:
        """Delete the object of that uid, if it is still there."""
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        if by_force:
            body["gracePeriodSeconds"] = 0
        try:
            await self._call("DELETE", resource, namespace, name, body=body)
        except (NotFound, Conflict):
            return

    async def _call(
        self,
        method: str,
        resource: Resource,
        namespace: str | None,
        name: str = "",
        subresource: str = "",
        *,
        body: Mapping[str, Any] | Sequence[Json] | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = _JSON,
    ) -> Json:
        return await self._ask(
            method,
            _path(resource, namespace, name, subresource),
            self._turn(resource),
            deadline=self._creating if method == "POST" else self._deadline,
            body=body,
            query=query,
            headers=headers,
        )

    async def _ask(
        self,
        method: str,
        path: str,
        turn: AbstractAsyncContextManager[None],
        *,
        deadline: ClientTimeout,
        body: Mapping[str, Any] | Sequence[Json] | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = _JSON,
    ) -> Json:
        sent, token = dict(headers), self._credentials.bearer()
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        content = json.dumps(body, separators=(",", ":")).encode() if body is not None else None
        try:
            async with (
                turn,
                self._session.request(
                    method,
                    f"{self._server}{path}",
                    data=content,
                    params=query,
                    headers=sent,
                    allow_redirects=False,
                    timeout=deadline,
                ) as answer,
            ):
                code, told = answer.status, await answer.read()
            if not is_success(code):
                raise _error(method, path, code, told)
            answered: Json = json.loads(told)
        except NO_ANSWER as error:
            # What is not JSON comes from something between us and the API server.
            raise ClusterUnavailable(f"{method} {path}: {why(error)}") from error
        return answered

    def _turn(self, resource: Resource) -> AbstractAsyncContextManager[None]:
        """The turn of a request. Leases wait for none: who leads must say so in time, however long others wait for a
        webhook of admission.
        """
        return nullcontext() if resource == LEASES else self._turns


def _place(body: Mapping[str, Any]) -> tuple[str | None, str]:
    """The namespace and the name of an object."""
    metadata = body["metadata"]
    return metadata.get("namespace"), metadata["name"]


def _operations(verb: str, values: Mapping[str, object]) -> list[Json]:
    """The part of a JSON patch (RFC 6902) that does the same with each value; to add what is there replaces it."""
    return [{"op": verb, "path": path, "value": value} for path, value in values.items()]


def _path(resource: Resource, namespace: str | None, name: str, subresource: str) -> str:
    scope = f"/namespaces/{namespace}" if namespace else ""
    return "/".join(filter(None, (f"{resource.root}{scope}/{resource.plural}", name, subresource)))


def _error(method: str, path: str, code: int, body: bytes) -> Exception:
    status = _status(body)
    message = str(status.get("message", body[:500].decode(errors="replace")))[:_MOST_TOLD]
    told = f"{method} {path}: {code}: {message}"
    if _UNDECLARED in message:
        told += f"; the CRDs of the cluster are older than this operator, bring them up to it: {APPLY_CRDS}"
    if _is_refused(code, told):
        return InvalidSpec([Problem(path.rpartition("/")[2], None, message)])
    if _is_declined(path, code, status):
        return Declined(told)
    match code:
        case 404:
            return NotFound(told)
        case 409:
            return Conflict(told)
        case 403 | 405:
            return NotAllowed(told)
        case _:
            return ClusterUnavailable(told)


def _is_refused(code: int, told: str) -> bool:
    """Whether the object itself is refused, by its schema or by admission (quota, limits, Pod Security, a webhook),
    rather than us.
    """
    is_about_us = f"{_FORBIDDEN}user " in told.lower()
    is_forbidden = code == 403 and _FORBIDDEN in told and not is_about_us
    return code in (400, 422) or is_forbidden or _DENIED in told


def _is_declined(path: str, code: int, status: Json) -> bool:
    """Whether the API server itself has stopped the request before anything was stored.

    Not every 500 says so: what etcd was too late for, which has no reason, may be stored yet. Nor does a 502, 503 or
    504: whoever lost sight of a request does not know what became of it.
    """
    match code:
        case 401 | 429:
            return True
        case 409:
            # Admission counts an object in its quotas first, and somebody else has written one of them meanwhile.
            details = status.get("details")
            kind = details.get("kind") if isinstance(details, dict) else None
            return kind is not None and kind not in path.split("/")
        case 500:
            # Admission again: a webhook did not answer, or the quotas were not counted in time.
            return status.get("reason") == "InternalError"
        case _:
            return False


def _status(body: bytes) -> Json:
    """What the API server says of an error; empty if it is somebody else who says it."""
    try:
        told = json.loads(body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
