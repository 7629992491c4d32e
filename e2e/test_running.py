"""A job runs, carries every record, and goes without a trace."""

import pytest

from e2e.faults.field import sender
from e2e.support.api import Cluster, Json, condition, to_yaml, wait_for
from e2e.support.jobs import Job, progress_of
from e2e.support.load import Load
from e2e.support.programs import running_program

pytestmark = pytest.mark.long

FILES = """
import os
from pyspark.sql import SparkSession

checkpoint = os.environ["SLUICE_CHECKPOINT_LOCATION"]
folder = checkpoint.removeprefix("file:") + "-files"
os.makedirs(folder, exist_ok=True)
with open(folder + "/rows.txt", "a") as file:
    file.write("a row\\n")
rows = SparkSession.builder.getOrCreate().readStream.text(folder)
writing = rows.writeStream.format("noop").option("checkpointLocation", checkpoint)
writing.start().awaitTermination()
"""
"""It reads the one file that it makes: a file that grows is the same file."""


def test_a_job_carries_every_record_once(job: Job, load: Load) -> None:
    load.send(f"{job.name}-in", rate=400, records=2000)
    ready = job.wait_until_ready()
    assert ready["status"]["phase"] == "Running"
    assert ready["status"]["executors"] == {"running": 1, "wanted": 1}
    sent = load.send(f"{job.name}-in", rate=400, records=4000)
    assert sent["next_sequence"] == 6000
    account = load.check(job)
    assert account["right"], account
    assert account["duplicates"] == 0
    job.wait("numbers", lambda it: "latencyP95" in it["status"].get("stream", {}), seconds=60)


def test_deleting_a_running_job_leaves_nothing(job: Job) -> None:
    job.wait_until_ready()
    job.cluster.delete("StreamJob", job.namespace, job.name)
    job.wait_until_gone(seconds=60)


def test_executors_follow_kubectl_scale_without_a_restart(job: Job) -> None:
    with sender(job.cluster, job.namespace, f"{job.name}-in", rate=50):
        job.wait_until_ready()
        _scale(job, 2)
        verified = job.wait("their first tasks", lambda it: "usedAt" in it["status"]["staffing"])
        assert verified["status"]["incarnation"] == 1
        _scale(job, 1)
    _an_autoscaler_scales_as_well(job)


def _an_autoscaler_scales_as_well(job: Job) -> None:
    """Kubernetes' own, by the processor time of the executors, of which it wants less than a JVM needs at rest."""
    target = {"apiVersion": "sluice.dev/v1alpha1", "kind": "StreamJob", "name": job.name}
    cpu = {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1m"}}
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": job.name},
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": 1,
            "maxReplicas": 2,
            "metrics": [{"type": "Resource", "resource": cpu}],
        },
    }
    job.cluster.apply(to_yaml(autoscaler), job.namespace)
    try:
        grown = job.wait("the autoscaler's executors", lambda it: it["status"]["replicas"] == 2)
        assert grown["spec"]["executors"]["initial"] == 2
        assert grown["status"]["incarnation"] == 1

        def scaler() -> Json:
            return job.cluster.get("HorizontalPodAutoscaler", job.namespace, job.name) or {}

        wait_for("its account", lambda: scaler()["status"]["currentReplicas"] == 2, seconds=60)
        assert condition(scaler(), "AbleToScale")["status"] == "True"
    finally:
        job.cluster.delete("HorizontalPodAutoscaler", job.namespace, job.name)


def _scale(job: Job, wanted: int) -> None:
    job.cluster.kubectl("scale", "sj", job.name, "-n", job.namespace, f"--replicas={wanted}")
    as_wanted = {"running": wanted, "wanted": wanted}
    scaled = job.wait(
        f"{wanted} executors",
        lambda resource: as_wanted.items() <= resource["status"]["executors"].items(),
    )
    assert scaled["status"]["incarnation"] == 1


@pytest.mark.thorough
def test_executors_get_other_cpu_without_a_restart(job: Job) -> None:
    job.wait_until_ready()
    before = _executor(job)
    job.patch(application={"executor": {"cpuRequest": "150m"}})

    def has_it() -> Json | None:
        pod = _executor(job)
        (container,) = pod["status"]["containerStatuses"]
        return pod if container["resources"]["requests"]["cpu"] == "150m" else None

    after = wait_for("other CPU", has_it, seconds=60)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["restartCount"] == 0
    applied = job.wait(
        "an applied spec", lambda it: condition(it, "SpecApplied").get("status") == "True"
    )
    assert applied["status"]["incarnation"] == 1
    assert "refusal" not in applied["status"]["resize"]


def _executor(job: Job) -> Json:
    selector = f"sluice.dev/job={job.name},sluice.dev/role=executor"
    (pod,) = job.cluster.list("Pod", job.namespace, selector)
    return pod


@pytest.mark.thorough
def test_a_job_of_files_that_resumes_with_no_new_one_runs(
    cluster: Cluster, namespace: str, operator: str
) -> None:
    with running_program(cluster, namespace, "files", FILES, sources=[]) as job:
        before = progress_of(job.wait_until_ready())
        cluster.delete("Pod", namespace, f"{job.name}-driver")
        resumed = job.wait_until_ready(incarnation=2)
        assert progress_of(resumed) == before == 0
        over = job.wait("the end of its recovery", lambda it: it["status"]["recoveries"]["count"])
        assert "present" not in over["status"]["recoveries"]


def test_suspended_jobs_stop_and_resume_where_they_were(job: Job, load: Load) -> None:
    load.send(f"{job.name}-in", rate=400, records=2000)
    job.wait_until_ready()
    load.check(job)
    job.patch(suspend=True)
    resting = job.wait("suspension", lambda resource: resource["status"]["phase"] == "Suspended")
    assert job.driver() is None
    before = progress_of(resting)
    assert before >= 0
    load.send(f"{job.name}-in", rate=400, records=2000)
    job.patch(suspend=False)
    job.wait_until_ready(incarnation=2)
    resumed = job.wait("a further batch", lambda resource: progress_of(resource) > before)
    assert progress_of(resumed) <= before + 20, "it did not go on where it was"
    account = load.check(job)
    assert account["right"], account


def test_a_changed_setting_restarts_from_the_last_batch_as_another_account(
    job: Job, load: Load
) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": f"{job.name}-own"},
        "automountServiceAccountToken": False,
    }
    job.cluster.apply(to_yaml(account), job.namespace)
    load.send(f"{job.name}-in", rate=400, records=2000)
    job.wait_until_ready()
    load.check(job)
    first = job.driver()
    assert first is not None
    setting = "spark.sql.streaming.minBatchesToRetain"
    job.patch(
        application={"serviceAccount": f"{job.name}-own", "sparkConf": {setting: "50"}},
    )
    changed = job.wait(
        "the class of the change",
        lambda resource: resource["status"]["change"]["kind"] == "Restart",
        seconds=30,
    )
    assert changed["status"]["change"]["fields"] == [
        "application.serviceAccount",
        f"application.sparkConf.{setting}",
    ]
    before = progress_of(changed)
    load.send(f"{job.name}-in", rate=400, records=2000)
    job.wait_until_ready(incarnation=2)
    second = job.driver()
    assert second is not None
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    job.wait("a further batch", lambda resource: progress_of(resource) > before)
    pods = job.cluster.list("Pod", job.namespace, f"sluice.dev/job={job.name}")
    running = [pod["spec"] for pod in pods if pod["status"]["phase"] == "Running"]
    assert {spec["serviceAccountName"] for spec in running} == {f"{job.name}-own"}
    assert len(running) == 2, "the driver and an executor"
    found = load.check(job)
    assert found["right"], found


@pytest.mark.thorough
def test_another_image_and_a_restart_by_hand_go_on_from_the_last_batch(
    job: Job, load: Load
) -> None:
    load.send(f"{job.name}-in", rate=400, records=2000)
    before = progress_of(job.wait_until_ready())
    (container,) = _driver(job)["status"]["containerStatuses"]
    # The same content by its own name, which a spec may give as well.
    other = container["imageID"]
    assert other != container["image"]
    job.patch(application={"image": other})
    job.wait_until_ready(incarnation=2)
    assert [one["image"] for one in _driver(job)["spec"]["containers"]] == [other]
    assert [one["image"] for one in _executor(job)["spec"]["containers"]] == [other]
    load.send(f"{job.name}-in", rate=400, records=2000)
    resumed = job.wait("a further batch", lambda resource: progress_of(resource) > before)
    assert condition(resumed, "SpecApplied")["status"] == "True"
    assert job.cluster.sluice("restart", job.name, "-n", job.namespace).returncode == 0
    restarted = job.wait_until_ready(incarnation=3)["status"]
    away = restarted["recoveries"]
    newest = away.get("present") or away["past"][-1]
    assert (newest["cause"], newest["incarnation"]) == ("SpecChange", 3)
    assert not restarted["failures"].get("inARow")
    load.send(f"{job.name}-in", rate=400, records=1000)
    account = load.check(job)
    assert account["right"], account


def _driver(job: Job) -> Json:
    driver = job.driver()
    assert driver is not None
    return driver


@pytest.mark.thorough
def test_a_setting_that_the_checkpoint_pins_is_refused_and_the_job_goes_on(
    job: Job, load: Load
) -> None:
    load.send(f"{job.name}-in", rate=400, records=400)
    job.wait_until_ready()
    first = job.driver()
    job.patch(application={"sparkConf": {"spark.sql.shuffle.partitions": "7"}})
    # Which of the two it is depends on whether the agent has read the checkpoint by then.
    reasons = ("MigrationRefused", "IgnoredByCheckpoint")
    refused = job.wait(
        "the refusal",
        lambda resource: condition(resource, "SpecApplied").get("reason") in reasons,
        seconds=30,
    )
    assert "spark.sql.shuffle.partitions" in condition(refused, "SpecApplied")["message"]
    load.send(f"{job.name}-in", rate=400, records=400)
    account = load.check(job)
    assert account["right"], account
    still = job.driver()
    assert first is not None
    assert still is not None
    assert still["metadata"]["uid"] == first["metadata"]["uid"]
