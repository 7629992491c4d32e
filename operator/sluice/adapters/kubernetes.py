"""The Kubernetes API over HTTP: the few verbs that the services need, with our errors in place of status codes."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self

import httpx

from sluice.adapters.credentials import Credentials
from sluice.errors import (
    ClusterUnavailable,
    Conflict,
    Declined,
    InvalidSpec,
    NotAllowed,
    NotFound,
    Problem,
)
from sluice.ports import PODS, Json, Resource

FIELD_MANAGER = "sluice"

_PAGE = 250
_JSON = {"Content-Type": "application/json"}
_METADATA_ONLY = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
_APPLY = {"Content-Type": "application/apply-patch+yaml"}
_STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}

_MOST_TOLD = 2048
"""Characters of an answer that are told. A status with more than it may hold could not be written any more."""

_NO_SUCH_PATH = "could not find the requested resource"
"""What the API server says of a path that it does not serve; a missing object has its name in the answer."""

_DENIED = "denied the request"
"""What a refusal by a webhook has in it, whatever its code."""

_FORBIDDEN = "is forbidden: "
"""What other refusals have in them; with "user" after it, it is about who asks."""

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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._credentials = credentials
        self._creating = deadline + ADMISSION
        # httpx looks through all its connections for each request that waits for one; so none waits there.
        self._turns = asyncio.Semaphore(connections)
        self._client = httpx.AsyncClient(
            base_url=credentials.server,
            verify=credentials.tls() if transport is None else True,
            timeout=deadline,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """Read an object live. Raises NotFound."""
        return await self._call("GET", _path(resource, namespace, name))

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
            page = await self._call("GET", _path(resource, namespace), query=query, headers=headers)
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
        path = _path(resource, body["metadata"].get("namespace"))
        return await self._call("POST", path, body=body, query={"fieldManager": FIELD_MANAGER})

    async def replace(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Replace an object of the same resourceVersion."""
        metadata = body["metadata"]
        path = _path(resource, metadata.get("namespace"), metadata["name"])
        return await self._call("PUT", path, body=body, query={"fieldManager": FIELD_MANAGER})

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Json:
        """Apply an object, or one of its subresources, as the owner of the fields that it names."""
        metadata = body["metadata"]
        path = _path(resource, metadata.get("namespace"), metadata["name"], subresource)
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return await self._call("PATCH", path, body=body, query=query, headers=_APPLY)

    async def resize(self, body: Mapping[str, Any]) -> Json:
        """Change the resources of the containers that a body names, while they run."""
        metadata = body["metadata"]
        path = _path(PODS, metadata["namespace"], metadata["name"], "resize")
        query = {"fieldManager": FIELD_MANAGER}
        try:
            return await self._call("PATCH", path, body=body, query=query, headers=_STRATEGIC)
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
            await self._call("DELETE", _path(resource, namespace, name), body=body)
        except (NotFound, Conflict):
            return

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = _JSON,
    ) -> Json:
        sent = dict(headers)
        token = self._credentials.bearer()
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        content = json.dumps(body, separators=(",", ":")).encode() if body is not None else None
        timeout = self._creating if method == "POST" else httpx.USE_CLIENT_DEFAULT
        try:
            async with self._turns:
                answer = await self._client.request(
                    method, path, content=content, params=query, headers=sent, timeout=timeout
                )
            if not answer.is_success:
                raise _error(method, path, answer)
            answered: Json = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            # What is not JSON comes from something between us and the API server.
            raise ClusterUnavailable(f"{method} {path}: {type(error).__name__}: {error}") from error
        return answered


def _path(resource: Resource, namespace: str | None, name: str = "", subresource: str = "") -> str:
    scope = f"/namespaces/{namespace}" if namespace else ""
    return "/".join(filter(None, (f"{resource.root}{scope}/{resource.plural}", name, subresource)))


def _error(method: str, path: str, answer: httpx.Response) -> Exception:
    told = f"{method} {path}: {answer.status_code}: {_message(answer)}"
    if _is_refused(answer.status_code, told):
        return InvalidSpec([Problem(path.rpartition("/")[2], None, _message(answer))])
    if _is_declined(path, answer):
        return Declined(told)
    match answer.status_code:
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


def _is_declined(path: str, answer: httpx.Response) -> bool:
    """Whether the API server itself has stopped the request before anything was stored.

    Not every 500 says so: what etcd was too late for, which has no reason, may be stored yet. Nor does a 502, 503 or
    504: whoever lost sight of a request does not know what became of it.
    """
    status = _status(answer)
    match answer.status_code:
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


def _message(answer: httpx.Response) -> str:
    return str(_status(answer).get("message", answer.text[:500]))[:_MOST_TOLD]


def _status(answer: httpx.Response) -> Json:
    """What the API server says of an error; empty if it is somebody else who says it."""
    try:
        told = answer.json()
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
