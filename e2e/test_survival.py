"""What must not cost a record or a driver: killed operators, killed drivers."""

import time

import pytest

from e2e.faults.field import sender
from e2e.support.api import Cluster, Json, wait_for
from e2e.support.jobs import Job, progress_of
from e2e.support.load import Load

OPERATOR_KILLS = 20
DRIVER_KILLS = 5

pytestmark = [pytest.mark.long, pytest.mark.thorough]


def test_twenty_killed_operators_do_not_touch_the_driver(
    job: Job, load: Load, operator: str
) -> None:
    with sender(job.cluster, job.namespace, f"{job.name}-in", rate=100):
        job.wait_until_ready()
        first = job.driver()
        assert first is not None
        for _ in range(OPERATOR_KILLS):
            _kill_operator(job.cluster, operator)
            driver = job.driver()
            assert driver is not None
            assert driver["metadata"]["uid"] == first["metadata"]["uid"]
        before = progress_of(job.read())
        followed = job.wait("a status again", lambda resource: progress_of(resource) > before)
        assert followed["status"]["incarnation"] == 1
    account = load.check(job)
    assert account["right"], account
    assert account["duplicates"] == 0, "a batch was repeated"


def _kill_operator(cluster: Cluster, namespace: str) -> None:
    """End the operator's pod without grace, and wait until another one leads or at least runs."""
    selector = "app.kubernetes.io/component=operator"
    before = {pod["metadata"]["uid"] for pod in cluster.list("Pod", namespace, selector)}
    for pod in cluster.list("Pod", namespace, selector):
        cluster.delete("Pod", namespace, pod["metadata"]["name"], grace=0)

    def another_runs() -> bool:
        return any(
            pod["metadata"]["uid"] not in before and pod["status"]["phase"] == "Running"
            for pod in cluster.list("Pod", namespace, selector)
        )

    wait_for("another operator", another_runs, seconds=60, every=0.2)


@pytest.mark.timeout(1500)
def test_five_killed_drivers_lose_no_record(job: Job, load: Load) -> None:
    rows_in_flight = 0
    with sender(job.cluster, job.namespace, f"{job.name}-in", rate=200):
        for incarnation in range(1, DRIVER_KILLS + 1):
            job.wait_until_ready(incarnation=incarnation)
            _wait_for_new_batch(job)
            rows_in_flight += _largest_batch(job)
            _kill_driver_process(job)
        ready = job.wait_until_ready(incarnation=DRIVER_KILLS + 1)
        assert ready["status"]["failures"]["exitCode"] == 137
    account = load.check(job, seconds=240)
    assert account["right"], account
    repeated: int = account["duplicates"]
    assert repeated <= rows_in_flight, f"{repeated} rows repeated, {rows_in_flight} were in flight"


def _wait_for_new_batch(job: Job) -> None:
    """Wait for a batch after the first, and then for a moment in the middle of the next one."""
    before = progress_of(job.read())
    job.wait("a further batch", lambda resource: progress_of(resource) > before)
    time.sleep(0.4)


def _largest_batch(job: Job) -> int:
    """Rows that the batch in flight can hold: all that arrived since the last commit that is known."""
    status: Json = job.read()["status"]
    waiting = max(status["stream"].get("lagSeconds") or 0.0, 30.0)
    return int(200 * waiting)


def _kill_driver_process(job: Job) -> None:
    """SIGKILL to Python and the JVM inside the container, as the kernel would do it."""
    words = ("exec", f"{job.name}-driver", "-n", job.namespace, "-c", "driver", "--")
    script = "import os,signal; me=os.getpid()\n" + (
        "for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):\n"
        "    if pid not in (1, me): os.kill(pid, signal.SIGKILL)"
    )
    job.cluster.kubectl(*words, "python3", "-c", script, check=False)
