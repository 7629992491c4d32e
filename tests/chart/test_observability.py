"""How the chart brings metrics, rules and dashboards to those who collect them."""

import json

import yaml

from sluice.settings import Settings
from tests.support.helm import CHART, HOME, Helm, of_kind


def test_the_operators_metrics_are_scraped_at_the_port_that_it_serves(helm: Helm) -> None:
    (deployment,) = of_kind(helm.render(), "Deployment").values()
    template = deployment["spec"]["template"]
    port = Settings.model_fields["metrics_port"].default

    assert {"name": "metrics", "containerPort": port} in template["spec"]["containers"][0]["ports"]
    assert template["metadata"]["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(port),
        "prometheus.io/path": "/metrics",
    }


def test_annotations_of_the_user_come_beside_ours(helm: Helm) -> None:
    (deployment,) = of_kind(helm.render('podAnnotations={"team":"data"}'), "Deployment").values()
    annotations = deployment["spec"]["template"]["metadata"]["annotations"]
    assert {"team", "prometheus.io/scrape"} <= set(annotations)


def test_a_pod_monitor_finds_the_operator_and_keeps_the_jobs_labels(helm: Helm) -> None:
    objects = helm.render('podMonitor={"enabled":true}')
    monitor = of_kind(objects, "PodMonitor")[HOME, "sluice-operator"]
    (deployment,) = of_kind(objects, "Deployment").values()

    selected = monitor["spec"]["selector"]["matchLabels"]
    assert selected.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["honorLabels"]) == ("metrics", True)


def test_the_network_policy_lets_scrapers_in_from_where_they_are_allowed(helm: Helm) -> None:
    peers = [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]
    (anybody,) = of_kind(helm.render(), "NetworkPolicy").values()
    (some,) = of_kind(
        helm.render(f"networkPolicy.metricsFrom={json.dumps(peers)}"), "NetworkPolicy"
    ).values()

    assert anybody["spec"]["ingress"] == [{"ports": [{"port": "metrics"}]}]
    assert some["spec"]["ingress"] == [{"ports": [{"port": "metrics"}], "from": peers}]


def test_rules_are_a_switch_and_the_same_as_in_the_plain_files(helm: Helm) -> None:
    assert not of_kind(helm.render(), "PrometheusRule")
    values = 'prometheusRule={"enabled":true,"labels":{"release":"prometheus"}}'
    made = of_kind(helm.render(values), "PrometheusRule")

    plain = {path.stem: yaml.safe_load(path.read_text()) for path in (CHART / "rules").glob("*")}
    assert {name.removeprefix("sluice-"): body["spec"] for (_, name), body in made.items()} == plain
    assert all(body["metadata"]["labels"]["release"] == "prometheus" for body in made.values())


def test_dashboards_are_a_switch_and_the_same_as_in_the_plain_files(helm: Helm) -> None:
    assert not of_kind(helm.render(), "ConfigMap")
    values = 'dashboards={"enabled":true,"annotations":{"grafana_folder":"Streams"}}'
    made = of_kind(helm.render(values), "ConfigMap").values()

    shipped = {name: text for body in made for name, text in body["data"].items()}
    plain = {f"sluice-{path.name}": path.read_text() for path in (CHART / "dashboards").glob("*")}
    assert {name: text.strip() for name, text in shipped.items()} == {
        name: text.strip() for name, text in plain.items()
    }
    for body in made:
        assert body["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert body["metadata"]["annotations"] == {"grafana_folder": "Streams"}
