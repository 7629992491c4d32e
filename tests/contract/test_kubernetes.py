"""What the adapter sends to an API server, and what it makes of its answers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from sluice.adapters.credentials import Credentials
from sluice.adapters.kubernetes import KubernetesCluster
from sluice.core.quantities import CpuShare, Millicores
from sluice.errors import (
    ClusterUnavailable,
    Conflict,
    Declined,
    InvalidSpec,
    NotAllowed,
    NotFound,
    SluiceError,
)
from sluice.manifests.pods import resized
from sluice.ports import CONFIG_MAPS, NAMESPACES, NODES, PODS, ROLES, STREAM_JOBS, Json

POD = {"metadata": {"namespace": "shop", "name": "clicks"}}
NOBODY = Credentials(server="http://127.0.0.1:1")


class Server:
    """An API server that answers from a list and keeps what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if self._answers else httpx.Response(200, json={})
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def only(self) -> httpx.Request:
        """The one request."""
        assert len(self.requests) == 1
        return self.requests[0]


def client(
    answer: Callable[[httpx.Request], httpx.Response], credentials: Credentials = NOBODY
) -> KubernetesCluster:
    return KubernetesCluster(credentials, transport=httpx.MockTransport(answer))


def status(code: int, message: str = "as it says", **told: Any) -> httpx.Response:
    """A refusal as the API server words it."""
    return httpx.Response(code, json={"kind": "Status", "code": code, "message": message, **told})


def about(kind: str, reason: str) -> httpx.Response:
    """A conflict about an object of this kind."""
    return status(409, reason=reason, details={"name": "clicks", "kind": kind})


async def refusal(*answers: httpx.Response | Exception) -> SluiceError:
    """Our error for an answer to the creation of a pod."""
    async with client(Server(*answers)) as cluster:
        with pytest.raises(SluiceError) as caught:
            await cluster.create(PODS, POD)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status(400), InvalidSpec),
        (status(401), Declined),
        (status(403, 'pods is forbidden: User "u" cannot create resource'), NotAllowed),
        (status(403, 'pods "a" is forbidden: exceeded quota: small'), InvalidSpec),
        (status(403, 'pods "a" is forbidden: violates PodSecurity "restricted"'), InvalidSpec),
        (status(403, 'pods "a" is forbidden: maximum cpu usage per Container is 1'), InvalidSpec),
        (status(403, 'admission webhook "w" denied the request: no'), InvalidSpec),
        (status(400, 'admission webhook "w" denied the request: no'), InvalidSpec),
        (status(404, 'admission webhook "w" denied the request: no'), InvalidSpec),
        (status(409, 'admission webhook "w" denied the request: no'), InvalidSpec),
        (status(500, 'admission webhook "w" denied the request: no'), InvalidSpec),
        (status(403, 'roles "r" is forbidden: user "u" is attempting to grant'), NotAllowed),
        (httpx.Response(403, text="<html>the proxy says no</html>"), NotAllowed),
        (status(405), NotAllowed),
        (status(404), NotFound),
        (status(409), Conflict),
        (about("pods", "AlreadyExists"), Conflict),
        (about("resourcequotas", "Conflict"), Declined),
        (about("clusterresourcequotas", "Conflict"), Declined),
        (status(410), ClusterUnavailable),
        (status(422), InvalidSpec),
        (status(429), Declined),
        (httpx.Response(429, text="Too many requests"), Declined),
        (status(500, "failed calling webhook", reason="InternalError"), Declined),
        (status(500, "etcdserver: request timed out"), ClusterUnavailable),
        (httpx.Response(500, text="This request caused apiserver to panic."), ClusterUnavailable),
        (httpx.Response(502, text="<html>no upstream</html>"), ClusterUnavailable),
        (status(503, reason="ServiceUnavailable"), ClusterUnavailable),
        (status(504, reason="Timeout"), ClusterUnavailable),
        (httpx.Response(200, text="<html>please log in</html>"), ClusterUnavailable),
        (httpx.ConnectError("refused"), ClusterUnavailable),
        (httpx.ReadTimeout("too slow"), ClusterUnavailable),
        (httpx.RemoteProtocolError("cut off"), ClusterUnavailable),
    ],
    ids=str,
)
async def test_an_answer_becomes_the_error_that_says_what_to_do(
    answer: httpx.Response | Exception, error: type[SluiceError]
) -> None:
    assert type(await refusal(answer)) is error


@pytest.mark.parametrize(
    ("kind", "error"), [("resourcequotas", Declined), ("configmaps", Conflict)]
)
async def test_a_conflict_over_a_quota_is_none_over_the_object_that_is_applied(
    kind: str, error: type[SluiceError]
) -> None:
    async with client(Server(about(kind, "Conflict"))) as cluster:
        with pytest.raises(SluiceError) as caught:
            await cluster.apply(CONFIG_MAPS, POD)
    assert type(caught.value) is error


async def test_a_webhook_that_does_not_answer_in_time_is_outlasted_when_something_is_created() -> (
    None
):
    server = Server()
    async with client(server) as cluster:
        await cluster.create(PODS, POD)
        await cluster.get(PODS, "shop", "clicks")
    creating, reading = (request.extensions["timeout"]["read"] for request in server.requests)
    assert (creating, reading) == (20, 10)


async def test_a_refusal_is_told_in_the_servers_own_words() -> None:
    assert "exceeded quota: small" in str(
        await refusal(status(403, "is forbidden: exceeded quota: small"))
    )


@pytest.mark.parametrize("code", [403, 409, 422, 500])
async def test_no_answer_is_longer_than_a_status_may_hold(code: int) -> None:
    told = await refusal(status(code, "violates a policy and another one; " * 500))
    assert len(str(told)) < 4096 - 500, "the status says what it is about, too"


async def test_an_unreachable_server_is_told_with_what_was_attempted() -> None:
    told = str(await refusal(httpx.ConnectError("no route")))
    assert told == "POST /api/v1/namespaces/shop/pods: ConnectError: no route"


async def test_the_core_group_and_named_groups_have_their_own_roots() -> None:
    server = Server()
    async with client(server) as cluster:
        await cluster.get(PODS, "shop", "a")
        await cluster.get(ROLES, "shop", "b")
    assert [request.url.path for request in server.requests] == [
        "/api/v1/namespaces/shop/pods/a",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/b",
    ]


async def test_an_apply_owns_its_fields_and_takes_them_from_others() -> None:
    server = Server()
    body = {"metadata": {"namespace": "shop", "name": "clicks"}, "status": {"phase": "Running"}}
    async with client(server) as cluster:
        await cluster.apply(STREAM_JOBS, body, subresource="status")
    sent = server.only
    path = "/apis/sluice.dev/v1alpha1/namespaces/shop/streamjobs/clicks/status"
    assert (sent.method, sent.url.path) == ("PATCH", path)
    assert dict(sent.url.params) == {"fieldManager": "sluice", "force": "true"}
    assert sent.headers["content-type"] == "application/apply-patch+yaml"
    assert json.loads(sent.content) == body


async def test_a_replacement_sends_the_version_that_was_read() -> None:
    server = Server()
    body = {"metadata": {**POD["metadata"], "resourceVersion": "7"}}
    async with client(server) as cluster:
        await cluster.replace(PODS, body)
    assert (server.only.method, server.only.url.path) == (
        "PUT",
        "/api/v1/namespaces/shop/pods/clicks",
    )
    assert json.loads(server.only.content)["metadata"]["resourceVersion"] == "7"


async def test_a_resize_changes_the_containers_that_it_names_and_nothing_else() -> None:
    server = Server()
    body = resized("shop", "clicks-1-exec-1", CpuShare(request=Millicores(500)))
    async with client(server) as cluster:
        await cluster.resize(body)
    path = "/api/v1/namespaces/shop/pods/clicks-1-exec-1/resize"
    assert (server.only.method, server.only.url.path) == ("PATCH", path)
    # A merge patch would replace the list of containers, an apply take the memory from Spark.
    assert server.only.headers["content-type"] == "application/strategic-merge-patch+json"
    assert json.loads(server.only.content)["spec"]["containers"] == [
        {"name": "executor", "resources": {"requests": {"cpu": "500m"}}}
    ]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status(404, 'pods "clicks-1-exec-1" not found'), NotFound),
        (status(404, "the server could not find the requested resource"), InvalidSpec),
        (status(405, "the server does not allow this method"), NotAllowed),
        (status(403, 'pods "a" is forbidden: User "u" cannot patch "pods/resize"'), NotAllowed),
        (status(422, "Pod QOS Class may not change as a result of resizing"), InvalidSpec),
        (status(500), ClusterUnavailable),
    ],
)
async def test_a_pod_that_is_gone_is_told_from_a_cluster_that_resizes_none(
    answer: httpx.Response, error: type[SluiceError]
) -> None:
    body = resized("shop", "clicks-1-exec-1", CpuShare(request=Millicores(500)))
    async with client(Server(answer)) as cluster:
        with pytest.raises(SluiceError) as caught:
            await cluster.resize(body)
    assert type(caught.value) is error


async def test_a_deletion_names_the_object_it_means() -> None:
    server = Server()
    async with client(server) as cluster:
        await cluster.delete(PODS, "shop", "clicks", uid="pod-1")
    assert server.only.method == "DELETE"
    sent = json.loads(server.only.content)
    assert sent["preconditions"] == {"uid": "pod-1"}
    assert "gracePeriodSeconds" not in sent


async def test_a_deletion_by_force_waits_for_no_kubelet() -> None:
    server = Server()
    async with client(server) as cluster:
        await cluster.delete(PODS, "shop", "clicks", uid="pod-1", by_force=True)
    sent = json.loads(server.only.content)
    assert sent["preconditions"] == {"uid": "pod-1"}
    assert sent["gracePeriodSeconds"] == 0


@pytest.mark.parametrize("code", [404, 409])
async def test_deleting_what_is_gone_or_another_one_by_now_is_done(code: int) -> None:
    async with client(Server(status(code))) as cluster:
        await cluster.delete(PODS, "shop", "clicks", uid="pod-1")


async def test_metadata_alone_are_asked_for_as_such() -> None:
    server = Server(httpx.Response(200, json={"metadata": {}, "items": None}))
    async with client(server) as cluster:
        assert [body async for body in cluster.each(PODS, "shop", metadata_only=True)] == []
    assert "as=PartialObjectMetadataList" in server.only.headers["Accept"]


async def test_nodes_are_selected_by_the_server_and_lie_in_no_namespace() -> None:
    server = Server(httpx.Response(200, json={"items": [], "metadata": {}}))
    async with client(server) as cluster:
        found = [body async for body in cluster.each(NODES, None, fields="spec.unschedulable=true")]
    assert found == []
    assert server.only.url.path == "/api/v1/nodes"
    assert server.only.url.params["fieldSelector"] == "spec.unschedulable=true"


async def test_a_namespace_lies_in_none() -> None:
    server = Server()
    async with client(server) as cluster:
        await cluster.get(NAMESPACES, "", "lab")
        await cluster.create(NAMESPACES, {"metadata": {"name": "lab"}})
        await cluster.delete(NAMESPACES, "", "lab", uid="u")
    paths = [(request.method, request.url.path) for request in server.requests]
    one = "/api/v1/namespaces/lab"
    assert paths == [("GET", one), ("POST", "/api/v1/namespaces"), ("DELETE", one)]


async def test_a_list_is_read_page_by_page() -> None:
    def page(names: str, rest: str = "") -> httpx.Response:
        items = [{"metadata": {"name": name}} for name in names]
        return httpx.Response(200, json={"metadata": {"continue": rest}, "items": items})

    server = Server(page("ab", "next"), page("cd", "last"), page("e"))
    async with client(server) as cluster:
        found = [body async for body in cluster.each(PODS, None, selector="sluice.dev/job")]
    assert "".join(item["metadata"]["name"] for item in found) == "abcde"
    assert [request.url.path for request in server.requests] == ["/api/v1/pods"] * 3
    asked = [dict(request.url.params) for request in server.requests]
    assert [query.get("continue") for query in asked] == [None, "next", "last"]
    assert {query["labelSelector"] for query in asked} == {"sluice.dev/job"}


async def test_a_list_whose_later_pages_have_expired_gives_nothing_rather_than_a_part() -> None:
    first: Json = {"metadata": {"continue": "next"}, "items": [POD]}
    async with client(Server(httpx.Response(200, json=first), status(410))) as cluster:
        with pytest.raises(ClusterUnavailable, match="410"):
            _ = [body async for body in cluster.each(PODS, "shop")]


async def test_a_token_that_was_rotated_is_used_from_the_next_request_on(tmp_path: Path) -> None:
    file, server = tmp_path / "token", Server()
    file.write_text("old\n")
    credentials = Credentials(server="http://127.0.0.1:1", token_file=file)
    async with client(server, credentials) as cluster:
        await cluster.get(PODS, "shop", "a")
        file.write_text("new\n")
        await cluster.get(PODS, "shop", "a")
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer old", "Bearer new"]


async def test_without_a_token_none_is_sent() -> None:
    server = Server()
    async with client(server) as cluster:
        await cluster.get(PODS, "shop", "a")
    assert "authorization" not in server.only.headers
