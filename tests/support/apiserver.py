"""A small API server on the loopback: discovery, lists, watches and writes of a cluster in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from sluice import ports
from sluice.errors import Conflict, NotFound
from sluice.ports import Json, Resource
from tests.support.cluster import MemoryCluster

KINDS = {
    resource.plural: resource
    for resource in (
        ports.PODS,
        ports.SERVICE_ACCOUNTS,
        ports.CONFIG_MAPS,
        ports.SECRETS,
        ports.EVENTS,
        ports.ROLES,
        ports.ROLE_BINDINGS,
        ports.LEASES,
        ports.NODES,
        ports.DISRUPTION_BUDGETS,
        ports.STREAM_JOBS,
        ports.STREAM_PROFILES,
        ports.NAMESPACES,
    )
}
SERVED = {
    "": ("Pod", "Namespace"),
    "sluice.dev": ("StreamJob", "StreamProfile"),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
}
"""What discovery shows: what an operator watches, and what kopf insists on finding."""


class ApiServer:
    """What the API server does for an operator, over HTTP."""

    def __init__(self) -> None:
        self.cluster = MemoryCluster()
        self.cluster.watchers.append(self._changed)
        self.selectors: set[tuple[str, str | None, str]] = set()
        """Whose watches were asked for: kind, namespace, label selector."""
        self.has_crds = True
        self.schemas: dict[str, Json] = {}
        """What it publishes of our kinds, by kind; an API server may publish nothing."""
        self.described = 0
        """How often it was asked for that."""
        self.is_mute = False
        """Whether changes are kept from the watches."""
        self.refused = 0
        """How often StreamJobs were asked for without their CRD."""
        self._watches: list[tuple[str, str | None, asyncio.Queue[Json]]] = []
        self._change = asyncio.Event()

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds, which is asked after every change."""
        try:
            async with asyncio.timeout(60):
                while not holds():
                    self._change.clear()
                    await self._change.wait()
        except TimeoutError:
            raise AssertionError(f"never came: {what}; writes: {self.cluster.writes}") from None

    def forget_watches(self) -> None:
        """Tell all watches that they are too old to go on, as after a restart."""
        gone = {"kind": "Status", "code": 410, "message": "too old resource version"}
        for _, _, queue in self._watches:
            queue.put_nowait({"type": "ERROR", "object": gone})

    @property
    def watched(self) -> set[str]:
        """The kinds that somebody watches now."""
        return {kind for kind, _, _ in self._watches}

    def _changed(self, kind: str, plural: str, body: Json) -> None:
        self._change.set()
        if self.is_mute:
            return
        for watched, namespace, queue in self._watches:
            if watched == plural and namespace in (None, body["metadata"].get("namespace")):
                queue.put_nowait({"type": kind, "object": body})

    def application(self) -> web.Application:
        """The routes."""
        application = web.Application()
        route = application.router.add_route
        route("GET", "/api", _core)
        route("GET", "/apis", _groups)
        route("GET", "/openapi/v3/apis/{group}/{version}", self._describe)
        for root in ("/api/{version}", "/apis/{group}/{version}"):
            route("GET", root, self._resources)
            route("GET", root + "/{plural}", _answering(self._list))
            place = root + "/namespaces/{namespace}/{plural}"
            route("GET", place, _answering(self._list))
            route("POST", place, _answering(self._create))
            for path in (place + "/{name}", place + "/{name}/{subresource}"):
                route("*", path, _answering(self._one))
        return application

    async def _describe(self, request: web.Request) -> web.Response:
        self.described += 1
        self._change.set()
        if not self.schemas:
            raise web.HTTPNotFound
        group, version = request.match_info["group"], request.match_info["version"]
        found = {
            f"dev.sluice.{version}.{kind}": {
                **schema,
                "x-kubernetes-group-version-kind": [
                    {"group": group, "version": version, "kind": kind}
                ],
            }
            for kind, schema in self.schemas.items()
        }
        return web.json_response({"components": {"schemas": {**found, "Time": {}}}})

    async def _resources(self, request: web.Request) -> web.Response:
        group = request.match_info.get("group", "")
        found = [
            {
                "name": kind.lower() + "s",
                "singularName": kind.lower(),
                "kind": kind,
                "namespaced": kind in ("Pod", "StreamJob", "StreamProfile"),
                "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
            }
            for kind in SERVED[group]
            if self.has_crds or not kind.startswith("Stream")
        ]
        return web.json_response({"resources": found})

    async def _list(self, request: web.Request) -> web.StreamResponse:
        resource, namespace = _resource(request), request.match_info.get("namespace")
        if not self.has_crds and resource in (ports.STREAM_JOBS, ports.STREAM_PROFILES):
            self._change.set()
            self.refused += 1
            raise NotFound("the server could not find the requested resource")
        selector = request.query.get("labelSelector", "")
        if "watch" in request.query:
            self.selectors.add((resource.plural, namespace, selector))
            return await self._watch(request, resource.plural, namespace)
        found = self.cluster.each(
            resource, namespace, selector=selector, fields=request.query.get("fieldSelector", "")
        )
        items = [body async for body in found]
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})

    async def _watch(
        self, request: web.Request, plural: str, namespace: str | None
    ) -> web.StreamResponse:
        queue: asyncio.Queue[Json] = asyncio.Queue()
        stream = web.StreamResponse()
        await stream.prepare(request)
        watch = (plural, namespace, queue)
        self._watches.append(watch)
        self._change.set()
        try:
            while True:
                event = await queue.get()
                await stream.write(json.dumps(event).encode() + b"\n")
        finally:
            self._watches.remove(watch)

    async def _create(self, request: web.Request) -> web.StreamResponse:
        created = await self.cluster.create(_resource(request), await request.json())
        return web.json_response(created, status=201)

    async def _one(self, request: web.Request) -> web.StreamResponse:
        resource, where = _resource(request), request.match_info
        namespace, name = where["namespace"], where["name"]
        match request.method:
            case "PUT":
                body = await self.cluster.replace(resource, await request.json())
            case "PATCH" if request.content_type == "application/merge-patch+json":
                sent, part = await request.json(), where.get("subresource", "")
                stored = await self.cluster.get(resource, namespace, name)
                body = self.cluster.put(resource, merged(stored, _unscaled(sent, part)))
            case "PATCH" if request.content_type == "application/json-patch+json":
                return await self._amend(request)
            case "PATCH":
                sent, part = await request.json(), where.get("subresource", "")
                body = await self.cluster.apply(resource, sent, subresource=part)
            case "DELETE":
                options = await request.json()
                uid, by_force = (
                    options["preconditions"]["uid"],
                    options.get("gracePeriodSeconds") == 0,
                )
                await self.cluster.delete(resource, namespace, name, uid=uid, by_force=by_force)
                body = {"kind": "Status", "status": "Success"}
            case _:
                body = await self.cluster.get(resource, namespace, name)
        return web.json_response(body)

    async def _amend(self, request: web.Request) -> web.StreamResponse:
        where = request.match_info
        tests: Json = {}
        parts: Json = {}
        for operation in await request.json():
            of_its_kind = tests if operation["op"] == "test" else parts
            of_its_kind[operation["path"]] = operation["value"]
        metadata = {"namespace": where["namespace"], "name": where["name"]}
        body = {**{path[1:]: value for path, value in parts.items()}, "metadata": metadata}
        if await self.cluster.amend(_resource(request), body, tests=tests):
            return web.json_response({"metadata": metadata})
        told = "the server rejected our request due to an error in our request"
        refusal = {"kind": "Status", "code": 422, "reason": "Invalid", "details": {}}
        return web.json_response({**refusal, "message": told}, status=422)


def merged(stored: Json, patch: Json) -> Json:
    """An object with a merge patch (RFC 7386)."""
    found = dict(stored)
    for name, value in patch.items():
        if isinstance(value, dict):
            found[name] = merged(found.get(name, {}), value)
        elif value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def _unscaled(sent: Json, part: str) -> Json:
    """What a patch of the scale subresource means for a StreamJob."""
    if part != "scale":
        return sent
    return {"spec": {"executors": {"initial": sent["spec"]["replicas"]}}}


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _answering(handler: Handler) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except (NotFound, Conflict) as error:
            code = 404 if isinstance(error, NotFound) else 409
            body = {"kind": "Status", "code": code, "message": str(error)}
            return web.json_response(body, status=code)

    return answer


def _resource(request: web.Request) -> Resource:
    return KINDS[request.match_info["plural"]]


async def _core(_: web.Request) -> web.Response:
    return web.json_response({"versions": ["v1"]})


async def _groups(_: web.Request) -> web.Response:
    groups = []
    for group, name in (("sluice.dev", "v1alpha1"), ("apiextensions.k8s.io", "v1")):
        version = {"groupVersion": f"{group}/{name}", "version": name}
        groups.append({"name": group, "versions": [version], "preferredVersion": version})
    return web.json_response({"groups": groups})


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[ApiServer, str]]:
    """A server, and where it is."""
    server = ApiServer()
    runner = web.AppRunner(server.application(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0]
        yield server, f"http://{host}:{port}"
    finally:
        await runner.cleanup()
