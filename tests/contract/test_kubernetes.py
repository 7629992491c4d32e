"""What the adapter sends to an API server, and what it makes of its answers."""

import asyncio
from pathlib import Path
from typing import Any

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
from sluice.ports import (
    CONFIG_MAPS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    ROLES,
    SECRETS,
    STREAM_JOBS,
    Json,
)
from tests.support.http import CUT_OFF, Answer, Server, telling

POD = {"metadata": {"namespace": "shop", "name": "clicks"}}


def client(server: Server, **options: Any) -> KubernetesCluster:
    return KubernetesCluster(Credentials(server=server.url), **options)


def status(code: int, message: str = "as it says", **told: Any) -> Answer:
    """A refusal as the API server words it."""
    return telling({"kind": "Status", "code": code, "message": message, **told}, code)


def about(kind: str, reason: str) -> Answer:
    """A conflict about an object of this kind."""
    return status(409, reason=reason, details={"name": "clicks", "kind": kind})


async def refusal(*answers: Answer) -> SluiceError:
    """Our error for an answer to the creation of a pod."""
    async with Server(*answers) as server, client(server, deadline=0.2) as cluster:
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
        (Answer(403, "<html>the proxy says no</html>"), NotAllowed),
        (status(405), NotAllowed),
        (status(404), NotFound),
        (status(409), Conflict),
        (about("pods", "AlreadyExists"), Conflict),
        (about("resourcequotas", "Conflict"), Declined),
        (about("clusterresourcequotas", "Conflict"), Declined),
        (status(410), ClusterUnavailable),
        (status(422), InvalidSpec),
        (status(429), Declined),
        (Answer(429, "Too many requests"), Declined),
        (status(500, "failed calling webhook", reason="InternalError"), Declined),
        (status(500, "etcdserver: request timed out"), ClusterUnavailable),
        (Answer(500, "This request caused apiserver to panic."), ClusterUnavailable),
        (Answer(502, "<html>no upstream</html>"), ClusterUnavailable),
        (status(503, reason="ServiceUnavailable"), ClusterUnavailable),
        (status(504, reason="Timeout"), ClusterUnavailable),
        (Answer(200, "<html>please log in</html>"), ClusterUnavailable),
        (Answer(302, headers={"Location": "/login"}), ClusterUnavailable),
        (Answer(200, headers={"Content-Encoding": "gzip"}), ClusterUnavailable),
        (CUT_OFF, ClusterUnavailable),
    ],
    ids=str,
)
async def test_an_answer_becomes_the_error_that_says_what_to_do(
    answer: Answer, error: type[SluiceError]
) -> None:
    assert type(await refusal(answer)) is error


@pytest.mark.parametrize(
    ("kind", "error"), [("resourcequotas", Declined), ("configmaps", Conflict)]
)
async def test_a_conflict_over_a_quota_is_none_over_the_object_that_is_applied(
    kind: str, error: type[SluiceError]
) -> None:
    async with Server(about(kind, "Conflict")) as server, client(server) as cluster:
        with pytest.raises(SluiceError) as caught:
            await cluster.apply(CONFIG_MAPS, POD)
    assert type(caught.value) is error


async def test_a_webhook_that_does_not_answer_in_time_is_outlasted_when_something_is_created() -> (
    None
):
    late = Answer(200, after=0.6)
    async with Server(late, late) as server, client(server, deadline=0.2) as cluster:
        await cluster.create(PODS, POD)
        with pytest.raises(ClusterUnavailable, match="no answer in time"):
            await cluster.get(PODS, "shop", "clicks")


async def test_a_refusal_is_told_in_the_servers_own_words() -> None:
    assert "exceeded quota: small" in str(
        await refusal(status(403, "is forbidden: exceeded quota: small"))
    )


async def test_a_field_that_older_definitions_lack_is_told_with_the_way_to_newer_ones() -> None:
    lack = ".status.executors.fault: field not declared in schema"
    told = str(await refusal(status(500, f"failed to create typed patch object: {lack}")))
    assert lack in told
    assert "kubectl apply --server-side --force-conflicts -f crds/" in told


@pytest.mark.parametrize("code", [403, 409, 422, 500])
async def test_no_answer_is_longer_than_a_status_may_hold(code: int) -> None:
    told = await refusal(status(code, "violates a policy and another one; " * 500))
    assert len(str(told)) < 4096 - 500, "the status says what it is about, too"


async def test_an_unreachable_server_is_told_with_what_was_attempted() -> None:
    async with Server() as server:
        pass
    async with client(server) as cluster:
        with pytest.raises(ClusterUnavailable) as caught:
            await cluster.create(PODS, POD)
    told = str(caught.value)
    assert told.startswith("POST /api/v1/namespaces/shop/pods: ClientConnectorError: ")
    assert f"127.0.0.1:{server.port}" in told


async def test_a_lease_is_asked_for_while_all_others_wait_for_their_turns() -> None:
    never = Answer(200, after=60)
    async with Server(never) as server, client(server, connections=1) as cluster:
        waiting = [asyncio.create_task(cluster.get(PODS, "shop", name)) for name in "ab"]
        await server.was_asked.wait()
        await cluster.get(LEASES, "home", "operator")
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    assert [request.path.rpartition("/")[2] for request in server.requests] == ["a", "operator"]


async def test_schemas_are_told_by_kind() -> None:
    named = {"type": "object", "x-kubernetes-group-version-kind": [{"kind": "StreamJob"}]}
    document = {"components": {"schemas": {"dev.sluice.v1alpha1.StreamJob": named, "Time": {}}}}
    async with Server(telling(document)) as server, client(server) as cluster:
        assert await cluster.schemas("sluice.dev/v1alpha1") == {"StreamJob": named}
    assert server.only.path == "/openapi/v3/apis/sluice.dev/v1alpha1"


@pytest.mark.parametrize("code", [403, 404])
async def test_an_api_server_that_publishes_no_schemas_tells_of_no_kind(code: int) -> None:
    async with Server(Answer(code, "not for you")) as server, client(server) as cluster:
        assert await cluster.schemas("sluice.dev/v1alpha1") == {}


async def test_a_server_behind_a_path_is_asked_below_it() -> None:
    async with Server() as server:
        credentials = Credentials(server=f"{server.url}/k8s/clusters/c-1/")
        async with KubernetesCluster(credentials) as cluster:
            await cluster.get(PODS, "shop", "a")
    assert server.only.path == "/k8s/clusters/c-1/api/v1/namespaces/shop/pods/a"


async def test_the_core_group_and_named_groups_have_their_own_roots() -> None:
    async with Server() as server, client(server) as cluster:
        await cluster.get(PODS, "shop", "a")
        await cluster.get(ROLES, "shop", "b")
    assert [request.path for request in server.requests] == [
        "/api/v1/namespaces/shop/pods/a",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/b",
    ]


async def test_an_apply_owns_its_fields_and_takes_them_from_others() -> None:
    body = {"metadata": {"namespace": "shop", "name": "clicks"}, "status": {"phase": "Running"}}
    async with Server() as server, client(server) as cluster:
        await cluster.apply(STREAM_JOBS, body, subresource="status")
    sent = server.only
    path = "/apis/sluice.dev/v1alpha1/namespaces/shop/streamjobs/clicks/status"
    assert (sent.method, sent.path) == ("PATCH", path)
    assert sent.query == {"fieldManager": "sluice", "force": "true"}
    assert sent.headers["content-type"] == "application/apply-patch+yaml"
    assert sent.json == body


async def test_a_rehearsal_is_a_creation_of_which_nothing_is_stored() -> None:
    full = status(403, "is forbidden: exceeded quota: small")
    async with Server(Answer(201), full) as server, client(server) as cluster:
        await cluster.rehearse(PODS, POD)
        with pytest.raises(InvalidSpec, match="exceeded quota: small"):
            await cluster.rehearse(PODS, POD)
    for sent in server.requests:
        assert (sent.method, sent.path) == ("POST", "/api/v1/namespaces/shop/pods")
        assert sent.query == {"fieldManager": "sluice", "dryRun": "All"}
        assert sent.json == POD


async def test_a_replacement_sends_the_version_that_was_read() -> None:
    body = {"metadata": {**POD["metadata"], "resourceVersion": "7"}}
    async with Server() as server, client(server) as cluster:
        await cluster.replace(PODS, body)
    assert (server.only.method, server.only.path) == (
        "PUT",
        "/api/v1/namespaces/shop/pods/clicks",
    )
    assert server.only.json["metadata"]["resourceVersion"] == "7"


OWNER = {"/metadata/ownerReferences/0/uid": "uid-of-clicks"}


async def test_an_amendment_replaces_what_a_body_has_only_in_an_object_that_passes_the_tests() -> (
    None
):
    body = {"apiVersion": "v1", "kind": "Secret", **POD, "type": "Opaque", "data": {"a": "b"}}
    async with Server() as server, client(server) as cluster:
        assert await cluster.amend(SECRETS, body, tests=OWNER)
    assert (server.only.method, server.only.path) == (
        "PATCH",
        "/api/v1/namespaces/shop/secrets/clicks",
    )
    assert server.only.headers["content-type"] == "application/json-patch+json"
    assert server.only.json == [
        {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": "uid-of-clicks"},
        {"op": "add", "path": "/type", "value": "Opaque"},
        {"op": "add", "path": "/data", "value": {"a": "b"}},
    ]


async def test_the_answer_to_an_amendment_has_no_secret() -> None:
    async with Server() as server, client(server) as cluster:
        await cluster.amend(SECRETS, POD, tests=OWNER)
    assert "as=PartialObjectMetadata;" in server.only.headers["Accept"]


async def test_an_object_that_does_not_pass_a_test_is_told_from_one_that_is_refused() -> None:
    told = "the server rejected our request due to an error in our request"
    unfit = status(422, told, reason="Invalid", details={})
    async with Server(unfit) as server, client(server) as cluster:
        assert not await cluster.amend(SECRETS, POD, tests=OWNER)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status(422, 'Secret "a" is invalid: type: field is immutable'), InvalidSpec),
        (status(422, 'admission webhook "w" denied the request: no'), InvalidSpec),
        (status(403, 'secrets "a" is forbidden: exceeded quota: small'), InvalidSpec),
        (status(404), NotFound),
        (status(500, "failed calling webhook", reason="InternalError"), Declined),
    ],
    ids=str,
)
async def test_what_is_refused_of_an_amendment_is_an_error(
    answer: Answer, error: type[SluiceError]
) -> None:
    async with Server(answer) as server, client(server) as cluster:
        with pytest.raises(error):
            await cluster.amend(SECRETS, POD, tests=OWNER)


async def test_a_resize_changes_the_containers_that_it_names_and_nothing_else() -> None:
    body = resized("shop", "clicks-1-exec-1", CpuShare(request=Millicores(500)))
    async with Server() as server, client(server) as cluster:
        await cluster.resize(body)
    path = "/api/v1/namespaces/shop/pods/clicks-1-exec-1/resize"
    assert (server.only.method, server.only.path) == ("PATCH", path)
    # A merge patch would replace the list of containers, an apply take the memory from Spark.
    assert server.only.headers["content-type"] == "application/strategic-merge-patch+json"
    assert server.only.json["spec"]["containers"] == [
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
    answer: Answer, error: type[SluiceError]
) -> None:
    body = resized("shop", "clicks-1-exec-1", CpuShare(request=Millicores(500)))
    async with Server(answer) as server, client(server) as cluster:
        with pytest.raises(SluiceError) as caught:
            await cluster.resize(body)
    assert type(caught.value) is error


async def test_a_deletion_names_the_object_it_means() -> None:
    async with Server() as server, client(server) as cluster:
        await cluster.delete(PODS, "shop", "clicks", uid="pod-1")
    assert server.only.method == "DELETE"
    sent = server.only.json
    assert sent["preconditions"] == {"uid": "pod-1"}
    assert "gracePeriodSeconds" not in sent


async def test_a_deletion_by_force_waits_for_no_kubelet() -> None:
    async with Server() as server, client(server) as cluster:
        await cluster.delete(PODS, "shop", "clicks", uid="pod-1", by_force=True)
    sent = server.only.json
    assert sent["preconditions"] == {"uid": "pod-1"}
    assert sent["gracePeriodSeconds"] == 0


@pytest.mark.parametrize("code", [404, 409])
async def test_deleting_what_is_gone_or_another_one_by_now_is_done(code: int) -> None:
    async with Server(status(code)) as server, client(server) as cluster:
        await cluster.delete(PODS, "shop", "clicks", uid="pod-1")


async def test_metadata_alone_are_asked_for_as_such() -> None:
    async with (
        Server(telling({"metadata": {}, "items": None})) as server,
        client(server) as cluster,
    ):
        assert [body async for body in cluster.each(PODS, "shop", metadata_only=True)] == []
    assert "as=PartialObjectMetadataList" in server.only.headers["Accept"]


async def test_nodes_are_selected_by_the_server_and_lie_in_no_namespace() -> None:
    async with Server(telling({"items": [], "metadata": {}})) as server, client(server) as cluster:
        found = [body async for body in cluster.each(NODES, None, fields="spec.unschedulable=true")]
    assert found == []
    assert server.only.path == "/api/v1/nodes"
    assert server.only.query["fieldSelector"] == "spec.unschedulable=true"


async def test_a_namespace_lies_in_none() -> None:
    async with Server() as server, client(server) as cluster:
        await cluster.get(NAMESPACES, "", "lab")
        await cluster.create(NAMESPACES, {"metadata": {"name": "lab"}})
        await cluster.delete(NAMESPACES, "", "lab", uid="u")
    paths = [(request.method, request.path) for request in server.requests]
    one = "/api/v1/namespaces/lab"
    assert paths == [("GET", one), ("POST", "/api/v1/namespaces"), ("DELETE", one)]


async def test_a_list_is_read_page_by_page() -> None:
    def page(names: str, rest: str = "") -> Answer:
        items = [{"metadata": {"name": name}} for name in names]
        return telling({"metadata": {"continue": rest}, "items": items})

    async with (
        Server(page("ab", "next"), page("cd", "last"), page("e")) as server,
        client(server) as cluster,
    ):
        found = [body async for body in cluster.each(PODS, None, selector="sluice.dev/job")]
    assert "".join(item["metadata"]["name"] for item in found) == "abcde"
    assert [request.path for request in server.requests] == ["/api/v1/pods"] * 3
    asked = [request.query for request in server.requests]
    assert [query.get("continue") for query in asked] == [None, "next", "last"]
    assert {query["labelSelector"] for query in asked} == {"sluice.dev/job"}


async def test_a_list_whose_later_pages_have_expired_gives_nothing_rather_than_a_part() -> None:
    first: Json = {"metadata": {"continue": "next"}, "items": [POD]}
    async with Server(telling(first), status(410)) as server, client(server) as cluster:
        with pytest.raises(ClusterUnavailable, match="410"):
            _ = [body async for body in cluster.each(PODS, "shop")]


async def test_a_token_that_was_rotated_is_used_from_the_next_request_on(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    async with Server() as server:
        credentials = Credentials(server=server.url, token_file=file)
        async with KubernetesCluster(credentials) as cluster:
            await cluster.get(PODS, "shop", "a")
            file.write_text("new\n")
            await cluster.get(PODS, "shop", "a")
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer old", "Bearer new"]


async def test_without_a_token_none_is_sent() -> None:
    async with Server() as server, client(server) as cluster:
        await cluster.get(PODS, "shop", "a")
    assert "authorization" not in server.only.headers
