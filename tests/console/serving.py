"""A cluster on the loopback for commands that block: the small API server in a thread, with further answers by path."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from sluice.api import crds
from sluice.console.cluster import path_of
from sluice.console.doctor.examining import CRDS
from sluice.console.installation import DEPLOYMENTS
from sluice.ports import LEASES, STREAM_JOBS
from tests.support.apiserver import ApiServer
from tests.support.cluster import MemoryCluster

Json = dict[str, Any]

TOKEN = "a-person's-token"
PROMETHEUS = "http://prometheus.monitoring.svc:9090"
PROXY = "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
OWN_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(slots=True)
class Answer:
    """A status with JSON or text."""

    body: Any = ""
    status: int = 200

    def response(self) -> web.Response:
        """As it is sent."""
        if isinstance(self.body, str):
            return web.Response(text=self.body, status=self.status)
        return web.json_response(self.body, status=self.status)


def refusal(status: int, message: str) -> Answer:
    """What the API server says no with."""
    return Answer({"kind": "Status", "code": status, "message": message}, status)


@dataclass(slots=True)
class FakeCluster:
    """A cluster in a thread.

    `answers`, by path or by path?PROMQL, go before what is stored; `asked` is everything that was asked for.
    """

    kubeconfig: Path
    server: ApiServer = field(default_factory=ApiServer)
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    refuses_patches: Answer | None = None

    @property
    def objects(self) -> MemoryCluster:
        """What is stored."""
        return self.server.cluster

    def stores(self, *bodies: Json) -> None:
        """Store StreamJobs."""
        for body in bodies:
            self.objects.put(STREAM_JOBS, body)

    def installs(self, *, prometheus: str = "", billing: str | None = None) -> None:
        """Be a cluster with one operator for the namespace shop, and all rights; `billing` is the Prometheus of another
        operator, for the namespace of that name.
        """
        installed = [deployment(prometheus)]
        if billing is not None:
            installed.append(deployment(billing, "billing"))
        allowed = Answer({"status": {"allowed": True}}, 201)
        self.answers |= {
            "/version": Answer({"gitVersion": "v1.34.4"}),
            path_of(DEPLOYMENTS, None): Answer(listed(*installed)),
            **{path_of(CRDS, None, kind.crd_name): Answer(served_crd(kind)) for kind in crds.KINDS},
            path_of(LEASES, "ops", "sluice-operator"): Answer(fresh_lease()),
            REVIEWS: allowed,
            OWN_REVIEWS: allowed,
        }

    @web.middleware
    async def answer(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Answer as told, else as the small API server does."""
        self.asked.append((request.path, dict(request.query)))
        self.tokens.add(request.headers.get("Authorization", ""))
        if request.method == "PATCH" and self.refuses_patches is not None:
            return self.refuses_patches.response()
        for key in (f"{request.path}?{request.query.get('query')}", request.path):
            if key in self.answers:
                return self.answers[key].response()
        response: web.StreamResponse = await handler(request)
        return response


def listed(*items: Json) -> Json:
    """A list as the API server sends it."""
    return {"metadata": {"resourceVersion": "1"}, "items": list(items)}


def deployment(prometheus: str = "", watches: str = "shop") -> Json:
    """The chart's Deployment."""
    environment = [{"name": "SLUICE_OPERATOR_NAMESPACES", "value": watches}]
    if prometheus:
        environment.append({"name": "SLUICE_OPERATOR_PROMETHEUS_URL", "value": prometheus})
    container = {"name": "operator", "image": "localhost/sluice-operator:dev", "env": environment}
    return {
        "metadata": {
            "namespace": "ops",
            "name": "sluice",
            "labels": {"app.kubernetes.io/version": "0.1.0"},
        },
        "spec": {
            "replicas": 1,
            "template": {"spec": {"serviceAccountName": "sluice", "containers": [container]}},
        },
        "status": {"readyReplicas": 1},
    }


def served_crd(kind: crds.Kind) -> Json:
    """Our CRD of a kind, established."""
    established = {"conditions": [{"type": "Established", "status": "True"}]}
    return {**crds.crd(kind), "status": established}


def fresh_lease() -> Json:
    """A Lease that will not run out for a thousand years."""
    spec = {
        "holderIdentity": "sluice-0",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseDurationSeconds": 32_000_000_000,
    }
    return {"metadata": {"namespace": "ops", "name": "sluice-operator"}, "spec": spec}


@contextmanager
def serving(directory: Path) -> Iterator[FakeCluster]:
    """A cluster, and a kubeconfig for it."""
    cluster = FakeCluster(directory / "kubeconfig")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(_start(cluster), loop).result(10)
    host, port = runner.addresses[0]
    cluster.kubeconfig.write_text(yaml.safe_dump(kubeconfig(f"http://{host}:{port}")))
    try:
        yield cluster
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _start(cluster: FakeCluster) -> web.AppRunner:
    application = cluster.server.application()
    application.middlewares.append(cluster.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


def kubeconfig(server: str) -> Json:
    """A kubeconfig with a current context, and one that names no namespace."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "local", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"token": TOKEN}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "local", "user": "me", "namespace": "shop"}},
            {"name": "plain", "context": {"cluster": "local", "user": "me"}},
        ],
    }
