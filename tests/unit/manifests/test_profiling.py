"""What Kubernetes gets for a copy: a job that can write nowhere, and guards that fit it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from sluice.api import convert, profiles
from sluice.core.application import StreamJob
from sluice.core.profiling.records import Copy, Profile, Reason
from sluice.manifests import children, pods
from sluice.manifests.profiling import copying, guards
from sluice.manifests.profiling.brokers import egress_to, seen_from_elsewhere
from sluice.manifests.profiling.guards import Surroundings
from sluice.manifests.profiling.labelling import job_key, profile_key, profile_uid
from tests.support.jobs import NOW, job, resource
from tests.support.profiles import profile_resource

APPLICATION = resource()["spec"]["application"]
SOURCES = [{"kafka": {"bootstrapServers": ["kafka:9092", "198.51.100.7:9093"], "topics": ["a"]}}]
AROUND = Surroundings(operator="sluice")
COPY = Copy(executors=3, namespace="clicks-1-x3-0123u", began=NOW)


def profile(**spec: Any) -> Profile:
    return profiles.streamprofile(profile_resource(**spec))


def original(**spec: Any) -> StreamJob:
    return job(**{"sources": SOURCES, **spec})


def copied(of: StreamJob) -> StreamJob:
    """The copy of a job, as the operator would read it from the API server."""
    body = copying.copy_job(profile(), COPY, of, AROUND, most_rows=15000)
    body["metadata"] |= {"uid": "uid-of-copy", "creationTimestamp": NOW.isoformat()}
    return convert.streamjob(body)


def made(kind: str, of: StreamJob, *, name: str = "") -> dict[str, Any]:
    """The guard of that kind."""
    found = guards.guards(profile(), COPY, of, AROUND)
    (body,) = [
        one for one in found if one["kind"] == kind and name in ("", one["metadata"]["name"])
    ]
    return body


def test_a_copy_runs_the_same_program_on_as_many_executors_as_are_measured() -> None:
    of = original(application={**APPLICATION, "arguments": ["--fast"]})
    copy = copied(of)
    assert copy.application.image == of.application.image
    assert copy.application.arguments == of.application.arguments
    size = copy.executors
    assert (size.minimum, size.maximum, size.initial) == (3, 3, 3)
    assert size.cores == of.executors.cores


def test_a_copy_has_a_checkpoint_of_its_own_and_makes_no_promises() -> None:
    promising = {
        "slo": {"latency": {"bound": "5s"}},
        "recovery": {"target": "1m"},
        "scaling": {"mode": "Auto"},
        "suspend": True,
    }
    copy = copied(original(**promising))
    assert copy.checkpoint_location == "claim://clicks-1-x3-0123u/clicks-x3-profile/profile"
    assert not copy.scaling.chooses
    assert not copy.suspend
    assert copy.objective is None
    assert copy.not_in_force == ()
    assert copy.restart.failures == 2


def test_a_copy_of_a_job_on_a_shared_store_writes_no_place_of_that_store() -> None:
    copy = copied(original(checkpoint={"uri": "s3a://shop/clicks"}))
    assert copy.checkpoint.uri is None


def test_the_copys_own_spec_says_that_it_drops_what_it_would_write() -> None:
    variables = {
        one["name"]: one.get("value") for one in copied(original()).application.environment
    }
    orders = json.loads(str(variables["SLUICE_PROFILE"]))
    assert orders == {
        "sinks": "drop",
        "checkpoint": "file:///checkpoint/profile",
        "startingOffsets": "earliest",
        "groupPrefix": "sluice-profile-0123-uid-x3",
        "mostRows": 15000,
    }


def test_a_copy_of_the_live_stream_begins_at_the_newest_row_and_has_no_limit_of_its_own() -> None:
    declared = profile(**{"from": "Latest"})
    body = copying.copy_job(declared, COPY, original(), AROUND, most_rows=None)
    (variable,) = body["spec"]["application"]["environment"]
    orders = json.loads(variable["value"])
    assert orders["startingOffsets"] == "latest"
    assert orders["mostRows"] is None


def test_a_copy_keeps_away_from_the_nodes_of_the_job_if_it_can() -> None:
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    own = {"podAffinityTerm": {"topologyKey": "zone"}, "weight": 1}
    wish = {"podAntiAffinity": {preferred: [own]}}
    node: dict[str, Any] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}
    template = {"spec": {"affinity": {**wish, **node}}}
    copy = copied(original(application={**APPLICATION, "executor": {"template": template}}))
    for pod in (pods.driver_pod(copy, 1), pods.executor_template(copy, 1)):
        *_, ours = pod["spec"]["affinity"]["podAntiAffinity"][preferred]
        assert ours["podAffinityTerm"] == {
            "namespaces": ["shop"],
            "labelSelector": {"matchLabels": {"sluice.dev/job": copy.key.name}},
            "topologyKey": "kubernetes.io/hostname",
        }
    kept = pods.executor_template(copy, 1)["spec"]["affinity"]
    assert kept["podAntiAffinity"][preferred][0] == own
    assert kept["nodeAffinity"] == node["nodeAffinity"]


def test_a_copy_has_not_the_priority_of_its_job_and_takes_no_room_from_others() -> None:
    urgent = {"priorityClassName": "production", "preemptionPolicy": "PreemptLowerPriority"}
    template = {"spec": {**urgent, "nodeSelector": {"disk": "fast"}}}
    parts = {"driver": {"template": template}, "executor": {"template": template}}
    copy = copied(original(application={**APPLICATION, **parts}))
    for pod in (pods.driver_pod(copy, 1), pods.executor_template(copy, 1)):
        assert urgent.keys().isdisjoint(pod["spec"])
        assert pod["spec"]["nodeSelector"] == {"disk": "fast"}


def test_a_copy_does_not_run_as_the_account_of_its_job() -> None:
    copy = copied(original(application={**APPLICATION, "serviceAccount": "lake-writer"}))
    for pod in (pods.driver_pod(copy, 1), pods.executor_template(copy, 1)):
        assert pod["spec"]["serviceAccountName"] == f"{copy.key.name}-driver"


def test_a_copy_finds_brokers_by_the_names_that_are_good_beside_the_job() -> None:
    template = {"spec": {"dnsConfig": {"searches": ["example.org"]}, "nodeSelector": {"a": "b"}}}
    of = original(application={**APPLICATION, "driver": {"template": template}})
    copy = copied(of)
    assert copy.sources[0].bootstrap_servers == ("kafka.shop:9092", "198.51.100.7:9093")
    driver = pods.driver_pod(copy, 1)["spec"]
    assert driver["dnsConfig"]["searches"] == ["example.org", "shop.svc.cluster.local"]
    assert driver["nodeSelector"] == {"a": "b"}
    executor = pods.executor_template(copy, 1)["spec"]
    assert executor["dnsConfig"]["searches"] == ["shop.svc.cluster.local"]


@pytest.mark.parametrize(
    ("server", "elsewhere"),
    [
        ("kafka:9092", "kafka.shop:9092"),
        ("kafka.data:9092", "kafka.data:9092"),
        ("kafka.data.svc.cluster.local:9092", "kafka.data.svc.cluster.local:9092"),
        ("198.51.100.7:9092", "198.51.100.7:9092"),
        ("[2001:db8::7]:9092", "[2001:db8::7]:9092"),
        ("kafka.internal.:9092", "kafka.internal.:9092"),
    ],
)
def test_a_short_name_gets_the_namespace_of_the_job(server: str, elsewhere: str) -> None:
    assert seen_from_elsewhere(server, "shop") == elsewhere


@pytest.mark.parametrize(
    ("server", "namespace"),
    [
        ("kafka:9092", "shop"),
        ("kafka.data:9092", "data"),
        ("kafka.data.svc:9092", "data"),
        ("kafka.data.svc.cluster.local:9092", "data"),
        ("kafka-0.kafka.data.svc.cluster.local:9092", "data"),
        ("kafka.data.svc.cluster.local.:9092", "data"),
    ],
)
def test_a_service_is_let_through_to_in_its_namespace_on_its_port(
    server: str, namespace: str
) -> None:
    (peer,) = egress_to(server, "shop")["to"]
    assert peer == {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    }
    assert egress_to(server, "shop")["ports"] == [{"protocol": "TCP", "port": 9092}]


def test_an_address_is_let_through_to_alone_and_a_name_outside_by_its_port() -> None:
    assert egress_to("198.51.100.7:1", "shop")["to"] == [{"ipBlock": {"cidr": "198.51.100.7/32"}}]
    assert egress_to("[2001:db8::7]:1", "a")["to"] == [{"ipBlock": {"cidr": "2001:db8::7/128"}}]
    assert egress_to("broker.example.org:9094", "shop") == {
        "ports": [{"protocol": "TCP", "port": 9094}]
    }


def test_a_name_with_a_dot_at_its_end_is_outside_unless_it_is_a_services() -> None:
    for name in ("kafka.internal.", "kafka."):
        assert egress_to(f"{name}:9094", "shop") == {"ports": [{"protocol": "TCP", "port": 9094}]}


def test_everything_is_denied_and_then_a_few_ways_are_opened() -> None:
    deny = made("NetworkPolicy", original(), name="deny-all")["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    allow = made("NetworkPolicy", original(), name="copy")["spec"]
    ports = [[port["port"] for port in rule.get("ports", [])] for rule in allow["egress"]]
    assert ports == [[], [53, 53, 5353, 5353], [443, 6443], [9092], [9093]]
    (inside,) = allow["egress"][0]["to"]
    assert inside == {"podSelector": {}}
    to_agent = allow["ingress"][1]
    assert to_agent["ports"] == [{"protocol": "TCP", "port": 8090}]
    named = {"matchLabels": {"kubernetes.io/metadata.name": "sluice"}}
    assert to_agent["from"] == [{"namespaceSelector": named}]


def test_names_are_found_also_where_the_name_servers_pods_listen_elsewhere_than_their_service() -> (
    None
):
    rules = made("NetworkPolicy", original(), name="copy")["spec"]["egress"]
    anywhere = [rule["ports"] for rule in rules if "to" not in rule]
    # OpenShift's: a policy counts the ports of pods.
    for protocol in ("UDP", "TCP"):
        assert any({"protocol": protocol, "port": 5353} in ports for ports in anywhere)


def test_known_api_servers_are_let_through_to_and_no_others() -> None:
    around = replace(AROUND, api_servers=(("10.1.2.3", 6443),))
    bodies = guards.guards(profile(), COPY, original(), around)
    rules = bodies[-1]["spec"]["egress"]
    to_api = {
        "ports": [{"protocol": "TCP", "port": 6443}],
        "to": [{"ipBlock": {"cidr": "10.1.2.3/32"}}],
    }
    assert to_api in rules
    assert not any(port["port"] == 443 for rule in rules for port in rule.get("ports", []))


def test_the_quota_has_room_for_the_copy_and_for_one_executor_that_is_replaced() -> None:
    of = original()
    hard = made("ResourceQuota", of)["spec"]["hard"]
    driver = pods.driver_pod(copied(of), 1)["spec"]["containers"][0]["resources"]["requests"]
    assert driver == {"cpu": "500m", "memory": "1434Mi"}
    assert hard["pods"] == "5"
    assert hard["requests.cpu"] == "4500m"
    assert hard["limits.memory"] == f"{1434 + 4 * (1024 + 384)}Mi"
    assert hard["persistentvolumeclaims"] == "1"


def test_the_quota_has_room_for_what_spark_and_templates_add() -> None:
    plain = made("ResourceQuota", original())["spec"]["hard"]
    sidecar = {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}
    conf = {"spark.executor.pyspark.memory": "1g"}
    application = {**APPLICATION, "sparkConf": conf, "executor": {"template": sidecar}}
    larger = made("ResourceQuota", original(application=application))["spec"]["hard"]
    assert int(larger["limits.memory"][:-2]) >= int(plain["limits.memory"][:-2]) + 4 * 3072
    assert larger["requests.cpu"] == "8500m"


def test_the_quota_has_room_for_the_claims_that_come_with_ephemeral_volumes() -> None:
    ephemeral = {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "20G"}}}}}
    of = original(application=_mounted("ephemeral", ephemeral))
    hard = made("ResourceQuota", of)["spec"]["hard"]
    assert hard["persistentvolumeclaims"] == "5", "the checkpoint's, and one of each executor"
    assert "requests.storage" not in hard


def test_every_pod_of_a_copys_namespace_is_restricted_and_everything_names_its_profile() -> None:
    space = guards.namespace(profile(), COPY)
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    claim = guards.claim(profile(), COPY, original())
    bodies = (space, claim, *guards.guards(profile(), COPY, original(), AROUND))
    whole = copying.copy_job(profile(), COPY, original(), AROUND, most_rows=1)
    for body in (*bodies, whole):
        assert profile_uid(body) == profile().uid
        assert profile_key(body) == profile().key
        assert job_key(body) == profile().job


def test_the_claim_is_like_that_of_the_job_unless_another_is_declared() -> None:
    like = {"spec": {"storageClassName": "shared", "accessModes": ["ReadWriteMany"]}}
    spec = guards.claim(profile(), COPY, original(), like)["spec"]
    assert spec["storageClassName"] == "shared"
    assert spec["accessModes"] == ["ReadWriteMany"]
    other = profile(storage={"size": "5Gi", "className": "fast", "accessMode": "ReadWriteOnce"})
    spec = guards.claim(other, COPY, original(), like)["spec"]
    assert spec["storageClassName"] == "fast"
    assert spec["accessModes"] == ["ReadWriteOnce"]
    assert spec["resources"]["requests"]["storage"] == "5120Mi"
    plain = guards.claim(profile(), COPY, original())["spec"]
    assert "storageClassName" not in plain


def _mounted(kind: str, named: dict[str, Any]) -> dict[str, Any]:
    """An application that mounts something."""
    volume = {"name": "extra", kind: named}
    return {**APPLICATION, "executor": {"template": {"spec": {"volumes": [volume]}}}}


SECRET = {"secretKeyRef": {"name": "kafka", "key": "password"}}


@pytest.mark.parametrize(
    ("application", "told"),
    [
        ({"environment": [{"name": "A", "valueFrom": SECRET}]}, "the Secret kafka"),
        ({"imagePullSecrets": ["registry"]}, "the Secret registry"),
        (_mounted("secret", {"secretName": "keys"}), "the Secret keys"),
        (_mounted("projected", {"sources": [{"secret": {"name": "keys"}}]}), "the Secret keys"),
        (_mounted("persistentVolumeClaim", {"claimName": "models"}), "the claim models"),
        (
            {"sparkConf": {"spark.kubernetes.executor.secretKeyRef.A": "keys:a"}},
            "the Secret keys",
        ),
        ({"sparkConf": {"spark.kubernetes.executor.secrets.keys": "/etc/k"}}, "the Secret keys"),
        (
            {"executor": {"template": {"spec": {"imagePullSecrets": [{"name": "registry"}]}}}},
            "the Secret registry",
        ),
        (
            {
                "sparkConf": {
                    "spark.kubernetes.executor.volumes.persistentVolumeClaim.m.options.claimName": "models"
                }
            },
            "the claim models",
        ),
    ],
)
def test_a_job_that_needs_what_may_not_be_copied_says_where_to_run_its_copies(
    application: dict[str, Any], told: str
) -> None:
    of = original(application={**APPLICATION, **application})
    found = copying.obstacle(of, ())
    assert found is not None
    assert found.reason is Reason.NEEDS_SECRET
    assert told in found.message
    assert "spec.namespaces" in found.message
    assert copying.obstacle(of, ["lab"]) is None


def test_what_may_be_missing_need_not_be_copied() -> None:
    optional = {"secretKeyRef": {"name": "kafka", "key": "a", "optional": True}}
    application = {**APPLICATION, "environment": [{"name": "A", "valueFrom": optional}]}
    assert copying.obstacle(original(application=application), ()) is None


def test_config_maps_are_found_wherever_the_application_names_them() -> None:
    variable = {"configMapKeyRef": {"name": "tuning", "key": "a"}}
    application = _mounted("configMap", {"name": "files"})
    application["environment"] = [{"name": "A", "valueFrom": variable}]
    assert set(copying.config_maps(original(application=application))) == {"tuning", "files"}


def test_a_copys_lease_and_token_are_not_those_of_its_job() -> None:
    of, copy = original(), copied(original())
    assert (
        children.lease(of, 1, NOW)["metadata"]["name"]
        != children.lease(copy, 1, NOW)["metadata"]["name"]
    )
    assert children.agent_token(of.uid, b"key") != children.agent_token(copy.uid, b"key")
