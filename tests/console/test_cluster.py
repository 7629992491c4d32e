"""Reading a cluster: as whom, where, page by page, and what is said when there is no answer."""

import os
import socket
from pathlib import Path

import pytest
import yaml

from sluice.console import finding
from sluice.console.cluster import Cluster, connect, path_of
from sluice.console.gathering import Reader
from sluice.console.trouble import NotAllowed, NotNow, NotThere, Trouble, Unreachable
from sluice.ports import PODS, STREAM_JOBS
from tests.console import resources
from tests.console.serving import TOKEN, Answer, FakeCluster, kubeconfig, listed, refusal
from tests.support.jobs import NOW


@pytest.fixture
def reading(cluster: FakeCluster) -> Cluster:
    """A client of that cluster."""
    return connect(kubeconfig=str(cluster.kubeconfig), context=None)


def test_the_person_of_the_context_asks(cluster: FakeCluster, reading: Cluster) -> None:
    cluster.stores(resources.healthy())
    assert [one["metadata"]["name"] for one in finding.jobs(reading, "shop")] == ["clicks"]
    assert cluster.tokens == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("context", "namespace"), [(None, "shop"), ("here", "shop"), ("plain", "default")]
)
def test_the_namespace_is_the_contexts(
    cluster: FakeCluster, context: str | None, namespace: str
) -> None:
    assert connect(kubeconfig=None, context=context).namespace == namespace


@pytest.mark.parametrize("current", [None, "", "gone"])
def test_a_context_that_is_asked_for_needs_no_current_one(
    tmp_path: Path, current: str | None
) -> None:
    (tmp_path / "kubeconfig").write_text(
        yaml.safe_dump({**kubeconfig("http://127.0.0.1:1"), "current-context": current})
    )
    found = connect(kubeconfig=str(tmp_path / "kubeconfig"), context="here")
    assert (found.server, found.namespace) == ("http://127.0.0.1:1", "shop")


def test_of_several_kubeconfigs_the_first_names_the_current_context_as_for_kubectl(
    tmp_path: Path,
) -> None:
    """Else a job would be paused in another cluster than the one that kubectl shows."""
    first = {**kubeconfig("http://127.0.0.1:1"), "current-context": "plain"}
    second = kubeconfig("http://127.0.0.1:2")
    for item in ("clusters", "users", "contexts"):
        second[item][0]["name"] += "-of-the-second"
    second["contexts"][0]["context"] = {"cluster": "local-of-the-second", "user": "me"}
    second["current-context"] = "here-of-the-second"
    for name, content in (("a", first), ("b", second), ("c", {"current-context": ""})):
        (tmp_path / name).write_text(yaml.safe_dump(content))
    for names, server in (("ab", 1), ("ba", 2), ("cb", 2)):
        place = os.pathsep.join(str(tmp_path / name) for name in names)
        assert connect(kubeconfig=place, context=None).server == f"http://127.0.0.1:{server}"


def test_in_a_pod_without_a_kubeconfig_its_account_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ca.crt", "token", "namespace"):
        (tmp_path / name).write_text("batch\n")
    monkeypatch.setattr("sluice.console.cluster.ACCOUNT", tmp_path)
    its = "kubernetes.config.incluster_config.SERVICE"
    monkeypatch.setattr(f"{its}_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(f"{its}_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr("kubernetes.config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "config"))
    found = connect(kubeconfig=None, context=None)
    assert (found.server, found.namespace) == ("https://127.0.0.1:6443", "batch")
    with pytest.raises(Unreachable, match="no cluster to ask"):
        connect(kubeconfig=str(tmp_path / "other"), context=None)
    (tmp_path / "config").write_text(yaml.safe_dump(kubeconfig("http://127.0.0.1:1")))
    assert connect(kubeconfig=None, context=None).server == "http://127.0.0.1:1"


def test_a_list_is_read_page_by_page(cluster: FakeCluster, reading: Cluster) -> None:
    path = path_of(PODS, None)
    rest = {"metadata": {"continue": "there"}, "items": [{"n": 1}]}
    cluster.answers[path] = Answer(rest)

    class Pages(dict[str, Answer]):
        def __getitem__(self, key: str) -> Answer:
            answer = super().__getitem__(key)
            self[key] = Answer(listed({"n": 2}))
            return answer

    cluster.answers = Pages(cluster.answers)
    assert reading.list(PODS, None) == [{"n": 1}, {"n": 2}]
    assert cluster.asked[-1] == (path, {"limit": "500", "continue": "there"})


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (refusal(401, "Unauthorized"), NotAllowed, "does not know you"),
        (refusal(403, "pods is forbidden"), NotAllowed, "pods is forbidden"),
        (refusal(404, "nothing here"), NotThere, "nothing here"),
        (refusal(400, "waiting to start"), NotNow, "waiting to start"),
        (refusal(503, "overloaded"), Unreachable, "answered 503: overloaded"),
        (Answer("<html>a proxy</html>", 502), Unreachable, "<html>a proxy</html>"),
        (Answer("<html>a proxy</html>"), Unreachable, "something else than JSON"),
        (Answer(["a proxy"]), Unreachable, "something else than an object"),
    ],
)
def test_a_refusal_is_told_with_the_servers_own_words(
    cluster: FakeCluster, reading: Cluster, answer: Answer, error: type[Trouble], says: str
) -> None:
    cluster.answers[path_of(PODS, "shop")] = answer
    with pytest.raises(error, match=says):
        reading.get(path_of(PODS, "shop"))


def test_a_server_that_is_gone_is_named_with_what_to_try(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = tmp_path / "kubeconfig"
    config.write_text(yaml.safe_dump(kubeconfig(f"http://127.0.0.1:{port}")))
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port}.*\n.*kubectl cluster-info"):
        connect(kubeconfig=str(config), context=None).get("/version")


@pytest.mark.parametrize("text", ["", "{", "a: b", "- 1"])
def test_a_kubeconfig_that_is_none_is_told_with_how_to_name_another(
    tmp_path: Path, text: str
) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(text)
    with pytest.raises(Unreachable, match="--kubeconfig or KUBECONFIG"):
        connect(kubeconfig=str(config), context=None)


def test_a_further_kubeconfig_that_is_none_is_told_as_well(tmp_path: Path) -> None:
    (tmp_path / "good").write_text(yaml.safe_dump(kubeconfig("http://127.0.0.1:1")))
    (tmp_path / "list").write_text("- 1")
    place = os.pathsep.join((str(tmp_path / "good"), str(tmp_path / "list")))
    with pytest.raises(Unreachable, match="--kubeconfig or KUBECONFIG"):
        connect(kubeconfig=place, context=None)


def test_the_servers_clock_is_read_from_its_answers(cluster: FakeCluster, reading: Cluster) -> None:
    cluster.stores()
    reading.list(STREAM_JOBS, "shop")
    assert reading.clock is not None
    assert reading.clock.skew.total_seconds() == 0


def test_a_patch_changes_what_it_names_and_takes_away_what_is_none(
    cluster: FakeCluster, reading: Cluster
) -> None:
    cluster.stores(resources.healthy())
    path = path_of(STREAM_JOBS, "shop", "clicks")
    reading.patch(path, {"metadata": {"annotations": {"a": "1", "b": "2"}}})
    reading.patch(path, {"metadata": {"annotations": {"a": None}}})
    found = reading.get(path)
    assert found["metadata"]["annotations"] == {"b": "2"}
    assert found["spec"] == resources.healthy()["spec"]


def test_who_may_not_change_is_told_of_another_role_than_who_may_not_look(
    cluster: FakeCluster, reading: Cluster
) -> None:
    path = path_of(STREAM_JOBS, "shop", "clicks")
    cluster.answers[path] = refusal(403, "streamjobs is forbidden")
    with pytest.raises(NotAllowed, match="`edit` is enough"):
        reading.patch(path, {})
    with pytest.raises(NotAllowed, match="`view` is enough"):
        reading.get(path)


def test_a_job_of_another_namespace_is_found_for_the_person(
    cluster: FakeCluster, reading: Cluster
) -> None:
    cluster.stores(resources.healthy())
    with pytest.raises(NotThere, match="There is one in shop: add -n shop"):
        finding.job(reading, "test", "clicks")


@pytest.mark.parametrize("code", [403, 429, 504])
def test_who_cannot_look_elsewhere_is_told_of_the_names_here(
    cluster: FakeCluster, reading: Cluster, code: int
) -> None:
    cluster.stores(resources.healthy())
    cluster.answers[path_of(STREAM_JOBS, None)] = refusal(code, "not now")
    with pytest.raises(NotThere, match=r"no StreamJob 'click' in .*\n.*Did you mean clicks\?"):
        finding.job(reading, "shop", "click")


@pytest.mark.parametrize(
    ("name", "there", "says"),
    [
        ("clikcs", ["clicks", "views"], "Did you mean clicks?"),
        ("other", ["clicks", "views"], "There are: clicks, views"),
        ("other", [f"job-{index}" for index in range(9)], "and 4 more"),
        ("other", [], "There is none in this namespace"),
    ],
)
def test_names_that_could_be_meant_are_suggested(name: str, there: list[str], says: str) -> None:
    assert says in finding.suggestion(name, there, [])


def test_without_the_crd_it_is_said_that_sluice_is_not_installed(
    cluster: FakeCluster, reading: Cluster
) -> None:
    cluster.server.has_crds = False
    with pytest.raises(NotThere, match=r"CRD streamjobs\.sluice\.dev is not installed"):
        finding.job(reading, "shop", "clicks")


@pytest.mark.parametrize(
    ("code", "words", "told"),
    [
        (403, "events is forbidden", "events is forbidden"),
        (429, "too many requests", "the API server answered 429: too many requests"),
        (504, "timed out", "the API server answered 504: timed out"),
    ],
)
def test_events_that_cannot_be_read_are_missing_with_the_reason(
    cluster: FakeCluster, reading: Cluster, code: int, words: str, told: str
) -> None:
    cluster.installs()
    cluster.stores(resources.healthy())
    cluster.answers["/api/v1/namespaces/shop/events"] = refusal(code, words)
    sight = Reader(reading, "shop").sight("clicks", resources.HOUR, NOW)
    assert sight.events == ()
    assert sight.notes[-1] == f"No events: {told}"
