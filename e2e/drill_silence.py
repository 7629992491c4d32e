"""A source that falls silent takes no executor from its job, which has them when what was held back comes.

`make silence-drill`: an hour, most of which the load only flows, because a load must have flowed for long to be missed.
"""

import json
import time

import pytest

from e2e.support.api import Cluster, Json, wait_for
from e2e.support.load import Load
from e2e.support.prometheus import Prometheus
from e2e.test_scaling import executors, finished, scaled
from sluice.core.forecasting import silences

NAME = "missed"
RATE = 150
"""Rows per second, for which one executor is too few."""

FLOWING = round(silences.FLOWING * silences.BEFORE) + 180
"""Seconds of flow, with a margin, after which a silence is one."""

SILENT = 360
"""Seconds of nothing, twelve times as long as a smaller size must be wanted."""

RETURNED = 180
"""Seconds of what was held back."""


@pytest.mark.timeout(5400)
def test_nothing_is_taken_from_a_job_whose_source_is_lost(
    cluster: Cluster, prometheus: Prometheus, operator: str, load: Load
) -> None:
    with scaled(cluster, load, NAME) as job:
        topic, schema = f"{NAME}-in", "enrichment"
        finished(load.start_replaying(topic, f"constant:{RATE}", seconds=FLOWING, schema=schema))
        before = executors(job.read())
        assert before >= 2
        end, reasons = time.monotonic() + SILENT, set[str]()
        while time.monotonic() < end:
            seen = job.read()
            assert executors(seen) == before, seen["status"]
            reasons.add(_reason(cluster, job.namespace))
            time.sleep(10)
        print(*sorted(reasons), sep="\n", flush=True)
        assert any("nothing arrives" in reason for reason in reasons)
        returning = load.start_replaying(
            topic, f"constant:{2 * RATE}", seconds=RETURNED, schema=schema
        )
        finished(returning)
        assert executors(job.read()) >= before
        wait_for("no lag", lambda: job.read()["status"]["stream"]["lagRows"] < RATE, seconds=300)
        compared = load.check(job, seconds=240, kind="enrichment")
        assert compared["missing"] == 0, compared
        assert job.read()["status"]["incarnation"] == 1


def _reason(cluster: Cluster, namespace: str) -> str:
    """That of the newest decision."""
    done = cluster.sluice("explain", NAME, "-n", namespace, "-o", "json")
    told: Json = json.loads(done.stdout)
    return str(told["decision"]["reason"])
