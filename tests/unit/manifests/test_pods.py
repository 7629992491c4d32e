"""The driver pod and the template of the executors."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.manifests.pods import driver_pod, executor_pod, executor_template
from sluice.ports import Json
from tests.support.jobs import application, job

SIDECAR = {"name": "proxy", "image": "proxy:1", "securityContext": {"runAsUser": 1000}}


def both(**changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two pods of a job."""
    of = job(**changes)
    return driver_pod(of, 3), executor_template(of, 3)


def values(pod: dict[str, Any]) -> dict[str, Any]:
    """The variables of the pod's first container."""
    return {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}


def test_a_driver_pod_has_a_fixed_name_and_goes_with_its_job() -> None:
    metadata = driver_pod(job(), 3)["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("clicks-driver", "shop")
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("StreamJob", job().uid, True)


def test_pods_say_which_job_role_and_incarnation_they_are_of() -> None:
    for pod, role in zip(both(), ("driver", "executor"), strict=True):
        labels = pod["metadata"]["labels"]
        assert labels["sluice.dev/job"] == "clicks"
        assert labels["sluice.dev/role"] == role
        assert labels["sluice.dev/incarnation"] == "3"


def test_a_driver_pod_carries_the_spec_that_it_was_made_from() -> None:
    of = job()
    assert (
        json.loads(driver_pod(of, 1)["metadata"]["annotations"]["sluice.dev/spec"]) == of.document
    )


def test_a_driver_is_never_restarted_in_its_pod() -> None:
    assert driver_pod(job(), 1)["spec"]["restartPolicy"] == "Never"


def test_pods_keep_the_restricted_standard() -> None:
    for pod in both():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        context = spec["containers"][0]["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}


def beside(sidecar: Json) -> Iterator[tuple[Json, Json, Json]]:
    """Our container of the driver and of an executor, with a sidecar and an init container of the user's in its pod."""
    spec = {"containers": [sidecar], "initContainers": [{"name": "first", "image": "a"}]}
    shape = {"template": {"spec": spec}}
    for pod in both(application=application(driver=shape, executor=shape)):
        ours, theirs = pod["spec"]["containers"]
        (first,) = pod["spec"]["initContainers"]
        yield ours, theirs, first


def test_users_containers_are_restricted_too() -> None:
    for ours, theirs, first in beside(SIDECAR):
        assert theirs["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsUser": 1000,
        }
        assert first["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert ours["name"] in ("driver", "executor")


def test_the_last_words_of_each_container_that_fails_are_kept_unless_the_user_says_otherwise() -> (
    None
):
    quiet = {**SIDECAR, "terminationMessagePolicy": "File"}
    for ours, theirs, first in beside(quiet):
        kept = [one["terminationMessagePolicy"] for one in (ours, first, theirs)]
        assert kept == ["FallbackToLogsOnError", "FallbackToLogsOnError", "File"]


def test_what_the_user_wrote_is_not_touched() -> None:
    of = job(application=application(driver={"template": {"spec": {"containers": [SIDECAR]}}}))
    before = json.dumps(of.application.driver.template)
    driver_pod(of, 1)
    assert json.dumps(of.application.driver.template) == before


def test_executors_have_no_access_to_the_api() -> None:
    driver, executor = both()
    assert executor["spec"]["automountServiceAccountToken"] is False
    assert driver["spec"]["automountServiceAccountToken"] is True


@pytest.mark.parametrize(
    ("changes", "account"), [({}, "clicks-driver"), ({"serviceAccount": "s3"}, "s3")]
)
def test_driver_and_executors_run_as_the_same_account(
    changes: dict[str, Any], account: str
) -> None:
    of = job(application=application(**changes))
    for pod in (driver_pod(of, 1), executor_template(of, 1)):
        assert pod["spec"]["serviceAccountName"] == account


def test_a_variable_comes_after_those_that_it_refers_to() -> None:
    mine = {"name": "ADDRESS", "value": "$(SLUICE_POD_IP):$(SLUICE_EXECUTORS)"}
    names = list(values(driver_pod(job(application=application(environment=[mine])), 1)))
    assert names.index("SLUICE_POD_IP") < names.index("ADDRESS")
    assert names.index("SLUICE_EXECUTORS") < names.index("ADDRESS")


def test_variables_of_the_user_take_the_place_of_defaults_in_both_pods() -> None:
    mine = [{"name": "HOME", "value": "/home"}, {"name": "A", "value": "1"}]
    for pod in both(application=application(environment=mine)):
        names = [one["name"] for one in pod["spec"]["containers"][0]["env"]]
        assert names.count("HOME") == 1
        assert values(pod)["HOME"] == "/home"
        assert values(pod)["A"] == "1"


def test_modules_are_found_by_driver_and_executors() -> None:
    for pod in both(application=application(pythonPath=["/opt/a", "/opt/b"])):
        assert values(pod)["PYTHONPATH"] == "/opt/a:/opt/b"


@pytest.mark.parametrize(
    ("theirs", "path"),
    [
        ({"value": "/opt/theirs"}, "/opt/a:/opt/theirs"),
        ({}, "/opt/a"),
        ({"valueFrom": {"configMapKeyRef": {"name": "paths", "key": "python"}}}, None),
    ],
)
def test_directories_of_modules_are_in_front_of_the_users_own_variable(
    theirs: dict[str, Any], path: str | None
) -> None:
    mine = [{"name": "PYTHONPATH", **theirs}]
    for pod in both(application=application(pythonPath=["/opt/a"], environment=mine)):
        assert values(pod).get("PYTHONPATH") == path


def test_sources_are_told_without_repeats() -> None:
    kafka = {"bootstrapServers": ["a:1", "b:1"], "topics": ["t"]}
    more = {"bootstrapServers": ["b:1"], "topics": ["u", "t"]}
    told = values(driver_pod(job(sources=[{"kafka": kafka}, {"kafka": more}]), 1))
    assert told["SLUICE_KAFKA_BOOTSTRAP_SERVERS"] == "a:1,b:1"
    assert told["SLUICE_KAFKA_TOPICS"] == "t,u"


def test_the_agent_runs_the_program_with_its_arguments() -> None:
    container = driver_pod(job(application=application(arguments=["--a", "b c"])), 1)
    assert container["spec"]["containers"][0]["args"] == [
        "python3",
        "/opt/sluice/agent.pyz",
        "/opt/clicks.py",
        "--a",
        "b c",
    ]


@pytest.mark.parametrize(
    ("pod", "request_and_limit"),
    [
        ({}, "1434Mi"),
        ({"memory": "512Mi"}, "896Mi"),
        ({"memory": "4Gi"}, "5735Mi"),
        ({"memory": "1Gi", "memoryOverhead": "100Mi"}, "1124Mi"),
    ],
)
def test_a_driver_gets_its_heap_and_forty_percent_and_at_least_384_mebibytes(
    pod: dict[str, str], request_and_limit: str
) -> None:
    made = driver_pod(job(application=application(driver=pod)), 1)
    resources = made["spec"]["containers"][0]["resources"]
    assert resources["requests"]["memory"] == request_and_limit
    assert resources["limits"]["memory"] == request_and_limit


def test_a_cpu_limit_alone_lowers_the_request() -> None:
    made = driver_pod(job(application=application(driver={"cpuLimit": "250m"})), 1)
    resources = made["spec"]["containers"][0]["resources"]
    assert resources["requests"]["cpu"] == resources["limits"]["cpu"] == "250m"


def test_an_executor_asks_for_what_spark_asks_for() -> None:
    shape = {"memoryOverhead": "512Mi", "cpuRequest": "250m", "cpuLimit": "1500m"}
    of = job(
        application=application(
            executor={**shape, "template": {"spec": {"containers": [SIDECAR]}}}
        ),
        executors={"min": 1, "max": 3, "memory": "768Mi"},
    )
    pod = executor_pod(of, 3)
    assert (pod["metadata"]["namespace"], pod["metadata"]["name"]) == ("shop", "clicks-3-exec-0")
    ours, beside = pod["spec"]["containers"]
    assert ours["image"] == of.application.image
    assert ours["resources"] == {
        "requests": {"cpu": "250m", "memory": "1280Mi"},
        "limits": {"cpu": "1500m", "memory": "1280Mi"},
    }
    assert beside == executor_template(of, 3)["spec"]["containers"][1]


@pytest.mark.parametrize(
    ("conf", "memory"),
    [
        ({}, "1408Mi"),
        ({"enabled": "true", "size": "2g"}, "3456Mi"),
        ({"enabled": "true", "size": "512MB"}, "1920Mi"),
        ({"enabled": "true", "size": "1073741824"}, "2432Mi"),
        ({"enabled": "false", "size": "2g"}, "1408Mi"),
        ({"size": "2g"}, "1408Mi"),
    ],
)
def test_an_executor_asks_for_the_memory_off_the_heap_that_spark_is_told_to_use(
    conf: dict[str, str], memory: str
) -> None:
    settings = {f"spark.memory.offHeap.{name}": value for name, value in conf.items()}
    (container,) = executor_pod(job(application=application(sparkConf=settings)), 3)["spec"][
        "containers"
    ]
    assert container["resources"]["limits"]["memory"] == memory


def test_without_a_limit_an_executor_may_use_all_cpu_there_is() -> None:
    (container,) = executor_pod(job(), 3)["spec"]["containers"]
    assert "cpu" not in container["resources"]["limits"]


def test_stopping_has_its_deadline_and_ten_seconds_more() -> None:
    made = driver_pod(job(application=application(driver={"stopDeadline": "1m30s"})), 1)
    assert made["spec"]["terminationGracePeriodSeconds"] == 100
    assert values(made)["SLUICE_STOP_DEADLINE_SECONDS"] == "90"


def test_a_claim_is_mounted_in_both_pods_and_a_uri_in_none() -> None:
    for pod in both():
        assert {"name": "checkpoint", "mountPath": "/checkpoint"} in pod["spec"]["containers"][0][
            "volumeMounts"
        ]
        assert {"name": "checkpoint", "persistentVolumeClaim": {"claimName": "checkpoints"}} in pod[
            "spec"
        ]["volumes"]
    for pod in both(checkpoint={"uri": "s3a://b/c"}):
        assert "checkpoint" not in json.dumps(pod["spec"]["volumes"])


@given(
    labels=st.dictionaries(st.sampled_from(["team", "app.kubernetes.io/part-of"]), st.text()),
    selector=st.one_of(st.none(), st.dictionaries(st.just("disk"), st.text())),
    empty=st.sampled_from(["labels", "annotations"]),
)
def test_no_template_takes_away_what_makes_a_pod_ours(
    labels: dict[str, str], selector: dict[str, str] | None, empty: str
) -> None:
    template = {
        "metadata": {"labels": labels, empty: None},
        "spec": {"nodeSelector": selector, "securityContext": None, "volumes": None},
    }
    bare = driver_pod(job(), 1)
    made = driver_pod(job(application=application(driver={"template": template})), 1)
    assert made["metadata"]["labels"].items() >= bare["metadata"]["labels"].items()
    assert "sluice.dev/spec" in made["metadata"]["annotations"]
    assert made["spec"]["securityContext"] == bare["spec"]["securityContext"]
    assert made["spec"]["volumes"] == bare["spec"]["volumes"]
