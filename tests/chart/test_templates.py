"""What an installation makes, and which values it refuses."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from sluice.settings import Settings
from tests.support.helm import CHART, HOME, ROOT, Helm, Json, of_kind

ONE_NAMESPACE = 'watchNamespaces=["shop"]'


def operator(objects: list[Json]) -> Json:
    """The operator's pod template."""
    (deployment,) = of_kind(objects, "Deployment").values()
    template: Json = deployment["spec"]["template"]
    return template


def container(objects: list[Json]) -> Json:
    """The operator's container."""
    (only,) = operator(objects)["spec"]["containers"]
    found: Json = only
    return found


def test_helm_finds_nothing_to_object_to(helm: Helm) -> None:
    done = helm.run("lint", str(CHART), "--strict")
    assert done.returncode == 0, done.stdout


def test_the_charts_crds_are_the_ones_that_are_generated() -> None:
    generated = {file.name: file.read_text() for file in (ROOT / "crds").glob("*.yaml")}
    packed = {file.name: file.read_text() for file in (CHART / "crds").glob("*.yaml")}
    assert generated
    assert packed == generated


def test_the_versions_of_chart_image_and_package_are_one() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    package = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert package is not None
    assert chart["version"] == chart["appVersion"] == package[1]


def test_the_operator_passes_the_restricted_pod_security_standard(helm: Helm) -> None:
    objects = helm.render()
    pod, own = operator(objects)["spec"]["securityContext"], container(objects)["securityContext"]
    assert pod == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert own == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_operators_memory_is_bounded_and_its_probes_ask_its_health(helm: Helm) -> None:
    own = container(helm.render())
    assert own["resources"]["limits"]["memory"]
    for probe in ("startupProbe", "livenessProbe"):
        assert own[probe]["httpGet"] == {"path": "/healthz", "port": "health"}
    assert own["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}
    health = Settings.model_fields["health_port"].default
    assert {"name": "health", "containerPort": health} in own["ports"]


def test_each_variable_is_a_setting_of_the_operator_with_its_default(helm: Helm) -> None:
    given = {one["name"]: one.get("value") for one in container(helm.render())["env"]}
    prefix = "SLUICE_OPERATOR_"
    for name, value in given.items():
        assert name.startswith(prefix)
        field = Settings.model_fields[name.removeprefix(prefix).lower()]
        if value is not None:
            read: TypeAdapter[Any] = TypeAdapter(field.annotation or str)
            assert read.validate_python(value) == field.default, name


def test_values_reach_the_operator(helm: Helm) -> None:
    objects = helm.render(
        'watchNamespaces=["shop","bank"]',
        'operator={"paused":true,"concurrentRestarts":4,"workers":3,"pollIntervalSeconds":2.5,"pollsPerSecond":9,"logLevel":"DEBUG"}',
        'image={"repository":"registry/sluice","tag":"v9"}',
        "replicas=2",
        'podLabels={"team":"data"}',
        'nodeSelector={"disk":"fast"}',
    )
    given = {one["name"]: one.get("value") for one in container(objects)["env"]}
    assert given["SLUICE_OPERATOR_NAMESPACES"] == "shop,bank"
    assert given["SLUICE_OPERATOR_PAUSED"] == "true"
    assert given["SLUICE_OPERATOR_CONCURRENT_RESTARTS"] == "4"
    assert given["SLUICE_OPERATOR_WORKERS"] == "3"
    assert given["SLUICE_OPERATOR_POLL_INTERVAL"] == "2.5"
    assert given["SLUICE_OPERATOR_POLLS_PER_SECOND"] == "9"
    assert given["SLUICE_OPERATOR_LOG_LEVEL"] == "DEBUG"
    assert container(objects)["image"] == "registry/sluice:v9"
    assert operator(objects)["metadata"]["labels"]["team"] == "data"
    assert operator(objects)["spec"]["nodeSelector"] == {"disk": "fast"}
    (deployment,) = of_kind(objects, "Deployment").values()
    assert deployment["spec"]["replicas"] == 2


def test_a_label_that_is_the_charts_own_is_there_once_and_stays_the_charts(helm: Helm) -> None:
    own = operator(helm.render())["metadata"]["labels"]
    again = dict.fromkeys(own, "mine")
    objects = helm.render(f"podLabels={json.dumps(again)}")
    assert operator(objects)["metadata"]["labels"] == own


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ("podMonitor", "PodMonitor"),
        ("prometheusRule", "PrometheusRule"),
        ("dashboards", "ConfigMap"),
    ],
)
def test_a_label_by_which_others_choose_is_there_once_and_the_users(
    helm: Helm, part: str, kind: str
) -> None:
    chosen = 'labels={"app.kubernetes.io/instance":"main","team":"data"}'
    objects = of_kind(helm.render(f"{part}.enabled=true", f"{part}.{chosen}"), kind)
    assert objects
    for body in objects.values():
        labels = body["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "main"
        assert (labels["team"], labels["app.kubernetes.io/name"]) == ("data", "sluice")


def test_an_account_that_is_there_is_used_and_not_made(helm: Helm) -> None:
    objects = helm.render("serviceAccount.create=false", 'serviceAccount.name="given"')
    assert not of_kind(objects, "ServiceAccount")
    assert operator(objects)["spec"]["serviceAccountName"] == "given"
    bindings = (
        *of_kind(objects, "RoleBinding").values(),
        *of_kind(objects, "ClusterRoleBinding").values(),
    )
    assert {subject["name"] for body in bindings for subject in body["subjects"]} == {"given"}


def test_a_chart_around_this_one_may_switch_it_by_a_condition(helm: Helm) -> None:
    assert helm.render("enabled=true") == helm.render()


def test_names_that_yaml_takes_for_something_else_stay_names(helm: Helm) -> None:
    values = ('watchNamespaces=["no","7"]', 'serviceAccount.name="1e3"', 'priorityClassName="8"')
    everything = [f"{part}.enabled=true" for part in ("podMonitor", "prometheusRule", "dashboards")]
    objects = helm.render(*values, *everything, release="123", home="2024")
    assert {name for _, name in of_kind(objects, "ServiceAccount")} == {"1e3"}
    pod = operator(objects)["spec"]
    assert (pod["serviceAccountName"], pod["priorityClassName"]) == ("1e3", "8")
    for body in objects:
        metadata = body["metadata"]
        assert metadata["labels"]["app.kubernetes.io/instance"] == "123"
        assert metadata.get("namespace", "2024") in ("2024", "no", "7")


@pytest.fixture
def own_chart(tmp_path: Path) -> Path:
    """A copy of the chart, to change something of it."""
    return shutil.copytree(CHART, tmp_path / "sluice")


def test_a_version_that_names_its_build_is_a_label_that_kubernetes_takes(
    helm: Helm, own_chart: Path
) -> None:
    text = (own_chart / "Chart.yaml").read_text()
    built = re.sub(r"^version: (.+)$", r"version: \1+4e5cbb7b97d0", text, flags=re.M)
    (own_chart / "Chart.yaml").write_text(built)

    done = helm.run("template", "sluice", str(own_chart))

    assert done.returncode == 0, done.stderr
    for body in filter(None, yaml.safe_load_all(done.stdout)):
        for name, value in body["metadata"]["labels"].items():
            assert re.fullmatch(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?", value), name


@pytest.mark.parametrize("namespaces", ["[]", '["shop"]'])
@pytest.mark.parametrize("watched", [True, False])
def test_the_notes_say_that_nodes_are_not_seen_where_the_right_is_not_granted(
    helm: Helm, own_chart: Path, namespaces: str, watched: bool
) -> None:
    notes = '{{ include (print .Template.BasePath "/NOTES.txt") . | toJson }}'
    body = f"apiVersion: v1\nkind: Notes\nmetadata: {{name: notes}}\ntext: {notes}\n"
    (own_chart / "templates" / "told.yaml").write_text(body)
    values = (f"watchNamespaces={namespaces}", f"watchNodes={json.dumps(watched)}")
    settings = [word for value in values for word in ("--set-json", value)]

    done = helm.run("template", "sluice", str(own_chart), *settings)

    objects = [one for one in yaml.safe_load_all(done.stdout) if one]
    (told,) = (one["text"] for one in objects if one["kind"] == "Notes")
    granted = any(name.endswith("-nodes") for _, name in of_kind(objects, "ClusterRole"))
    assert granted == watched
    assert ("may not see nodes" in told) == (not granted)


def test_an_annotation_of_the_user_takes_the_place_of_the_charts(helm: Helm) -> None:
    done = helm.run(
        "template",
        "sluice",
        str(CHART),
        "--set-json",
        'podAnnotations={"prometheus.io/scrape":"false"}',
    )
    assert done.stdout.count("prometheus.io/scrape:") == 1
    assert 'prometheus.io/scrape: "false"' in done.stdout
    assert "prometheus.io/path: /metrics" in done.stdout


def test_the_pods_are_those_that_the_deployment_selects(helm: Helm) -> None:
    objects = helm.render()
    (deployment,) = of_kind(objects, "Deployment").values()
    wanted = deployment["spec"]["selector"]["matchLabels"]
    labels = operator(objects)["metadata"]["labels"]
    assert wanted.items() <= labels.items()


def test_everything_lies_in_the_releases_namespace_unless_it_is_meant_for_a_jobs(
    helm: Helm,
) -> None:
    for body in helm.render(ONE_NAMESPACE):
        if not body["kind"].startswith("Cluster"):
            assert body["metadata"]["namespace"] in (HOME, "shop"), body["kind"]


@pytest.mark.parametrize(
    ("release", "home"), [("two", HOME), ("one", "elsewhere")], ids=["name", "namespace"]
)
def test_two_releases_share_no_object(helm: Helm, release: str, home: str) -> None:
    def made(release: str, home: str) -> set[tuple[str, str, str]]:
        return {
            (body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])
            for body in helm.render(release=release, home=home)
        }

    assert not made("one", HOME) & made(release, home)


@pytest.mark.parametrize("is_on", [True, False])
def test_the_network_policy_is_a_switch_and_lets_nobody_in(helm: Helm, is_on: bool) -> None:
    objects = helm.render(f"networkPolicy.enabled={str(is_on).lower()}")
    policies = list(of_kind(objects, "NetworkPolicy").values())
    assert len(policies) == int(is_on)
    for policy in policies:
        assert "Ingress" in policy["spec"]["policyTypes"]
        selected = policy["spec"]["podSelector"]["matchLabels"]
        assert selected.items() <= operator(objects)["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("namespaces", "watched"), [("[]", {"any": True}), ('["shop"]', {"matchNames": ["shop"]})]
)
def test_the_pod_monitor_is_a_switch_and_finds_the_drivers(
    helm: Helm, namespaces: str, watched: dict[str, Any]
) -> None:
    assert "PodMonitor" not in {body["kind"] for body in helm.render()}
    objects = helm.render(
        f"watchNamespaces={namespaces}",
        'podMonitor={"enabled":true,"interval":"7s","labels":{"release":"prometheus"}}',
    )
    monitors = of_kind(objects, "PodMonitor")
    drivers = monitors[HOME, "sluice-drivers"]
    assert drivers["spec"]["namespaceSelector"] == watched
    assert drivers["spec"]["selector"]["matchLabels"] == {"sluice.dev/role": "driver"}
    (endpoint,) = drivers["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["interval"]) == ("agent", "7s")
    assert drivers["metadata"]["labels"]["release"] == "prometheus"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("replicas=9", ("/replicas", "maximum", "9")),
        ('replicas="two"', ("/replicas", "want integer")),
        ('replica="2"', ("replica", "not allowed")),
        ('operator.paused="yes"', ("/operator/paused", "want boolean")),
        ("operator.concurrentRestarts=0", ("/operator/concurrentRestarts", "minimum", "1")),
        ("operator.workers=0", ("/operator/workers", "minimum", "0")),
        ("operator.pollIntervalSeconds=0.1", ("/operator/pollIntervalSeconds", "0.5")),
        ("operator.pollsPerSecond=0", ("/operator/pollsPerSecond", "0")),
        ('operator.logLevel="LOUD"', ("/operator/logLevel", "'INFO'")),
        ("operator.pollSeconds=5", ("/operator", "pollSeconds", "not allowed")),
        ('watchNamespaces=["Shop"]', ("/watchNamespaces/0", "Shop")),
        ('watchNamespaces=["a","a"]', ("/watchNamespaces", "equal")),
        ('watchNamespaces="shop"', ("/watchNamespaces", "want array")),
        ('image.repository=""', ("/image/repository", "minLength")),
        ('image.repository="sluice@sha256:1f"', ("/image/repository", "sluice@sha256:1f")),
        ("operator=null", ("missing property 'operator'",)),
        ("prometheus=null", ("missing property 'prometheus'",)),
        ("operator.workers=null", ("/operator", "missing property 'workers'")),
        ("watchNodes=null", ("missing property 'watchNodes'",)),
        ("makeNamespaces=null", ("missing property 'makeNamespaces'",)),
        ("podLabels.tier=1", ("/podLabels/tier", "want string")),
        ("podAnnotations.inject=false", ("/podAnnotations/inject", "want string")),
        ("serviceAccount.create=false", ("/serviceAccount/name", "minLength")),
        ("serviceAccount.create=null", ("/serviceAccount", "missing property 'create'")),
        ("serviceAccount.annotations.role=1", ("/serviceAccount/annotations/role", "want string")),
        ("dashboards.labels.grafana_dashboard=1", ("/grafana_dashboard", "want string")),
        ('image.pullPolicy="Sometimes"', ("/image/pullPolicy", "'IfNotPresent'")),
        ("podMonitor.enabled=1", ("/podMonitor/enabled", "want boolean")),
        ('podMonitor.interval="often"', ("/podMonitor/interval", "often")),
        ('networkPolicy.enabled="yes"', ("/networkPolicy/enabled", "want boolean")),
    ],
)
def test_a_wrong_value_is_refused_with_its_place_and_what_is_wrong(
    helm: Helm, value: str, says: tuple[str, ...]
) -> None:
    message = helm.refusal(value)
    for part in says:
        assert part in message


def test_every_value_is_in_the_schema(helm: Helm) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for name, value in values.items():
        wrong = 7 if not isinstance(value, int) else '"text"'
        assert f"/{name}" in helm.refusal(f"{name}={wrong}")
