"""Asking Prometheus from outside the cluster: which way, and what counts as an answer."""

import re
from datetime import timedelta
from typing import Any

import pytest

from sluice.console import trends
from sluice.console.cluster import Cluster, connect
from sluice.console.installation import Installation, installation
from sluice.console.prometheus import Direct, Prometheus, address, service_path, source_of
from sluice.errors import MetricsUnavailable
from tests.console.serving import PROMETHEUS, PROXY, Answer, FakeCluster, deployment, refusal
from tests.support.jobs import NOW

Json = dict[str, Any]

SERVICES = "/api/v1/namespaces/monitoring/services"


@pytest.fixture
def reading(cluster: FakeCluster) -> Cluster:
    """A client of that cluster."""
    return connect(kubeconfig=str(cluster.kubeconfig), context=None)


def success(result: Any) -> Answer:
    """An answer to a query."""
    return Answer({"status": "success", "data": {"result": result}})


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (PROMETHEUS, f"{SERVICES}/prometheus:9090/proxy"),
        ("http://p.monitoring.svc", f"{SERVICES}/p:80/proxy"),
        ("https://p.monitoring.svc.cluster.local/base/", f"{SERVICES}/https:p:443/proxy/base"),
        ("https://prometheus.example.com", None),
        ("http://localhost:9090", None),
        ("nonsense", None),
        ("http://p.monitoring.svc:http", None),
        ("http://p.monitoring.svc:90900", None),
        ("http://[fd00::1", None),
    ],
)
def test_a_service_of_the_cluster_is_reached_through_the_api_server(
    url: str, path: str | None
) -> None:
    assert service_path(url) == path


@pytest.mark.parametrize("url", ["http://p.monitoring.svc:http", "http://[fd00::1"])
def test_what_is_no_address_is_a_lack_of_metrics_that_names_it(reading: Cluster, url: str) -> None:
    with pytest.raises(MetricsUnavailable, match=re.escape(url)):
        Prometheus(source_of(url, reading)).now("up")


def test_a_range_is_asked_for_from_the_first_slice_to_now(
    cluster: FakeCluster, reading: Cluster
) -> None:
    path = f"{PROXY}/api/v1/query_range"
    values = [[NOW.timestamp() - 60, "1.5"], [NOW.timestamp(), "NaN"]]
    cluster.answers[path] = success([{"metric": {"job": "clicks"}, "values": values}])
    slices = trends.slices_until(NOW, timedelta(hours=1))
    found = Prometheus(source_of(PROMETHEUS, reading)).history("up", slices)
    assert found[0].samples == ((NOW - timedelta(seconds=60), 1.5),)
    assert cluster.asked[-1] == (
        path,
        {
            "query": "up",
            "start": f"{slices.start.timestamp():.3f}",
            "end": f"{NOW.timestamp():.3f}",
            "step": "180",
        },
    )


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer("<html>"), "something else than JSON"),
        (Answer({"status": "error"}), "not an answer of Prometheus"),
        (Answer([]), "something else than an object"),
        (success([{"no": "metric"}]), "something else than series"),
        (refusal(403, "services is forbidden"), "services is forbidden"),
        (refusal(503, "no endpoints available"), "no endpoints available"),
    ],
)
def test_what_is_no_answer_is_a_lack_of_metrics_with_the_reason(
    cluster: FakeCluster, reading: Cluster, answer: Answer, says: str
) -> None:
    cluster.answers[f"{PROXY}/api/v1/query"] = answer
    with pytest.raises(MetricsUnavailable, match=says):
        Prometheus(source_of(PROMETHEUS, reading)).now("up")


def test_a_server_elsewhere_is_asked_directly(cluster: FakeCluster, reading: Cluster) -> None:
    told = [NOW.timestamp(), str(NOW.timestamp())]
    cluster.answers["/elsewhere/api/v1/query"] = success(told)
    source = source_of(f"{reading.server}/elsewhere/", reading)
    assert isinstance(source, Direct)
    assert Prometheus(source).clock() == NOW


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense", "http://[::bad"])
def test_an_address_where_nobody_answers_is_named(url: str) -> None:
    with pytest.raises(MetricsUnavailable, match=url.replace("[", r"\[")):
        Prometheus(Direct(url)).now("up")


GIVEN = installation(deployment(PROMETHEUS))
NOT_GIVEN = installation(deployment())


@pytest.mark.parametrize(
    ("installed", "namespace", "says"),
    [
        ([NOT_GIVEN], "shop", "ops/sluice was given no Prometheus"),
        ([GIVEN], "test", "no operator was found"),
        ([], None, "no operator was found"),
    ],
)
def test_who_was_given_no_prometheus_is_told_with_how_to_name_one(
    installed: list[Installation], namespace: str | None, says: str
) -> None:
    with pytest.raises(MetricsUnavailable, match=f"{says}.*--prometheus"):
        address(installed, namespace)


@pytest.mark.parametrize("namespace", ["shop", None])
def test_the_address_is_that_of_the_operator_of_the_namespace(namespace: str | None) -> None:
    assert address([NOT_GIVEN, GIVEN], namespace) == PROMETHEUS
