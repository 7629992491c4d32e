"""The agent beside real streaming programs: each test starts a driver of its own, which takes seconds."""

import json
import os
import signal
import urllib.error
from datetime import datetime
from pathlib import Path
from typing import Any

import pyspark
import pytest
from prometheus_client.parser import text_string_to_metric_families

from sluice.core.checkpoints import misplaced
from tests.agent.running import Running, plainly, running, under_agent
from tests.agent.streaming import SESSION, all_committed, queries, write

pytestmark = pytest.mark.spark

RAISED = "USER_RAISED_EXCEPTION" if pyspark.__version__ >= "4" else "java.lang.RuntimeException"
"""What Spark calls the error of an assertion in a query."""

LOOPING = (
    SESSION
    + """
counts = rate.groupBy((F.col("value") % 3).alias("key")).count()
start(counts, "counting", "update")
start(rate.select(F.assert_true(F.col("value") < 30, F.lit("too big"))), "failing")
other = spark.newSession()
writer = other._jsparkSession.readStream().format("rate").load().writeStream().format("noop")
writer.queryName("past the writer").start()
def each_batch(frame, batch_id):
    frame.count()
rate.writeStream.queryName("for each batch").foreachBatch(each_batch).start()
while True:
    time.sleep(1)
"""
)

CONTINUOUS = (
    SESSION
    + """
single = spark.readStream.format("rate").option("numPartitions", 1).load()
writer = single.writeStream.format("memory").queryName("continuous").trigger(continuous="1 second")
writer.start().awaitTermination()
"""
)

AWAITING = (
    SESSION
    + """
first = start(rate, "first")
second = start(rate, "second")
third = start(rate, "third")
spark.streams.awaitAnyTermination()
print("main goes on", flush=True)
spark.stop()
sys.exit(7)
"""
)

FAILING = (
    SESSION
    + """
import atexit
atexit.register(lambda: print("last words", spark.range(3).count()))
behind = start(rate, "left behind")
def run():
    failing = rate.select(F.assert_true(F.col("value") < 0, F.lit("negative")))
    start(failing, "failing").awaitTermination()
try:
    run()
finally:
    print(spark.range(5).count(), behind.isActive)
"""
)

NAMELESS = (
    SESSION
    + """
import os
spark.conf.set("spark.sql.streaming.checkpointLocation", os.getcwd() + "/default")
start(rate, "named")
rate.writeStream.format("noop").trigger(processingTime="1 second").start().awaitTermination()
"""
)

SLEEPING = SESSION + "start(rate, 'orphan'); time.sleep(600)"

CHECKPOINTED = (
    SESSION
    + """
import os
def count(partitions, store):
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    provider = f"org.apache.spark.sql.execution.streaming.state.{store}StateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    counts = rate.groupBy((F.col("value") % 3).alias("key")).count()
    writer = counts.writeStream.format("noop").queryName("counting").outputMode("update")
    return writer.option("checkpointLocation", "checkpoint").start()
first = count(3, "RocksDB")
while not first.lastProgress or not first.lastProgress["stateOperators"]:
    time.sleep(0.1)
first.stop()
count(5, "HDFSBacked")
rate.writeStream.queryName("stuck").foreachBatch(lambda *_: time.sleep(600)).start()
os.mkdir("empty")
start(spark.readStream.format("text").load("empty"), "waiting")
time.sleep(600)
"""
)

LIMITED = (
    SESSION
    + """
start(rate, "unlimited")
start(rate.union(spark.readStream.format("rate").load()), "of two sources")
limited = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 500).load()
start(limited, "limited").awaitTermination()
print("main goes on", flush=True)
"""
)


def test_queries_are_seen_however_started_and_sigterm_ends_a_looping_main(
    pyz: Path, tmp_path: Path
) -> None:
    environment = {"SLUICE_STOP_DEADLINE_SECONDS": "1", "SLUICE_EXECUTORS": "2"}
    with running(pyz, write(tmp_path, LOOPING), **environment) as program:
        program.wait_for("batches", all_committed("counting", "past the writer", "for each batch"))
        state = program.wait_for(
            "the failed query and the rate of the others",
            lambda state: (
                queries(state)["failing"]["error"]
                and queries(state)["for each batch"]["arrivalRowsPerSecond"]
                and queries(state)["counting"]["latencySeconds"]
                and queries(state)["counting"]["state"]["rows"] == 3
            ),
        )
        text = program.metrics()
        with pytest.raises(urllib.error.HTTPError, match="409"):
            program.ask("/v1/executors", {"target": 3})
        program.terminate()
        ended = program.ended()

    assert state["phase"] == "running"
    assert (state["executors"]["target"], state["executors"]["ids"]) == (2, [])
    assert state["executors"]["cpu"] is None
    assert state["executors"]["work"] == []
    failing = queries(state)["failing"]
    assert (failing["active"], failing["error"]["class"]) == (False, RAISED)
    assert "too big" in failing["error"]["message"]
    assert len(state["queries"]) == 4
    # The source gives ten rows each second, whatever the machine; samples are taken at whole offsets.
    assert queries(state)["for each batch"]["arrivalRowsPerSecond"] == pytest.approx(10, rel=0.6)
    assert queries(state)["counting"]["state"]["partitions"] == 2
    samples = [
        sample for family in text_string_to_metric_families(text) for sample in family.samples
    ]
    failures = {
        sample.labels["query"]: sample.value
        for sample in samples
        if sample.name == "sluice_query_failures_total"
    }
    assert failures["failing"] == 1
    assert failures["counting"] == 0
    assert ended.exit_code == 143
    assert "Traceback" not in ended.stderr


def test_a_stop_lets_main_end_in_its_own_way_after_all_queries(pyz: Path, tmp_path: Path) -> None:
    with running(pyz, write(tmp_path, AWAITING)) as program:
        program.wait_for("batches", all_committed("first", "second", "third"))
        program.ask("/v1/stop", {})
        ended = program.ended()

    assert (ended.stdout, ended.exit_code) == ("main goes on\n", 7)
    assert "stopped SparkContext" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_main_that_fails_and_leaves_a_query_behind_ends_as_plainly(
    pyz: Path, tmp_path: Path
) -> None:
    write(tmp_path, FAILING)
    plain = plainly(["main.py"], tmp_path)
    under = under_agent(pyz, ["main.py"], tmp_path)

    assert (under.stdout, under.exit_code) == (plain.stdout, plain.exit_code)
    assert (under.stdout, under.exit_code) == ("5 True\nlast words 3\n", 1)
    assert frames(under.stderr) == frames(plain.stderr)
    assert any("in run" in frame for frame in frames(under.stderr))


def test_a_lost_jvm_is_told_although_main_sleeps(pyz: Path, tmp_path: Path) -> None:
    with running(pyz, write(tmp_path, SLEEPING)) as program:
        program.wait_for("a batch", all_committed("orphan"))
        os.kill(program.child(), signal.SIGKILL)
        state = program.wait_for("the loss", lambda state: not queries(state)["orphan"]["active"])
        program.terminate()
        ended = program.ended()

    assert queries(state)["orphan"]["error"]["class"] == "DRIVER_JVM_LOST"
    assert "-9" in queries(state)["orphan"]["error"]["message"]
    assert ended.exit_code == 143


def test_the_checkpoint_tells_the_state_and_a_stuck_batch_is_told_from_waiting(
    pyz: Path, tmp_path: Path
) -> None:
    with running(pyz, write(tmp_path, CHECKPOINTED)) as program:
        state = program.wait_for(
            "state, a stuck query and one that waits",
            lambda state: (
                {"counting", "stuck", "waiting"} == set(queries(state))
                and queries(state)["counting"]["state"]
                and queries(state)["counting"]["checkpoint"]
                and queries(state)["stuck"]["inBatchSince"]
                and str(queries(state)["waiting"]["doing"]).startswith("Waiting for")
            ),
        )

    assert queries(state)["counting"]["state"]["partitions"] == 3
    assert queries(state)["counting"]["state"]["provider"] == "rocksdb"
    assert queries(state)["stuck"]["doing"] == "Processing new data"
    assert queries(state)["waiting"]["inBatchSince"] is None
    assert queries(state)["counting"]["triggerSeconds"] == 0
    checkpoint = queries(state)["counting"]["checkpoint"]
    assert checkpoint["location"] == f"file:{tmp_path}/checkpoint"
    assert (checkpoint["formatVersion"], checkpoint["lastBatch"] >= 0) == ("v1", True)
    assert checkpoint["committedAt"] is not None
    assert checkpoint["settings"]["spark.sql.shuffle.partitions"] == "3"


def test_a_query_without_name_and_place_has_a_checkpoint_that_is_left_to_chance(
    pyz: Path, tmp_path: Path
) -> None:
    with running(pyz, write(tmp_path, NAMELESS)) as program:
        state = program.wait_for(
            "both checkpoints",
            lambda state: (
                len(found := state["queries"]) == 2 and all(q["checkpoint"] for q in found)
            ),
        )
    place = f"file://{tmp_path}/default"
    found = {query["name"]: query["checkpoint"]["location"] for query in state["queries"]}
    assert misplaced(found.pop("named"), place) is None
    (nameless,) = found.values()
    told = misplaced(nameless, place)
    assert told is not None
    assert "neither a name nor a place" in told


def test_a_continuous_query_is_known_as_one_though_it_reports_nothing(
    pyz: Path, tmp_path: Path
) -> None:
    with running(pyz, write(tmp_path, CONTINUOUS)) as program:
        state = program.wait_for(
            "an epoch",
            lambda state: (
                "continuous" in queries(state)
                and "epoch" in str(queries(state)["continuous"]["doing"]).lower()
            ),
        )

    found = queries(state)["continuous"]
    assert (found["processing"], found["active"]) == ("continuous", True)
    assert (found["lastBatch"], found["inBatchSince"]) == (None, None)


def test_a_running_query_takes_another_limit_and_trigger_and_nothing_is_stopped(
    pyz: Path, tmp_path: Path
) -> None:
    with running(pyz, write(tmp_path, LIMITED)) as program:
        before = program.wait_for("the program's own", keeps(1))
        program.wait_for("batches", all_committed("unlimited", "of two sources"))
        answer = program.ask("/v1/limits", LIMITS)
        limited = program.wait_for("the limits", keeps(3))
        program.ask("/v1/limits", {"query": "limited", "mostRows": None, "triggerSeconds": None})
        after = program.wait_for("the program's own again", keeps(1))
        refusals = {
            name: refusal(program, {"query": name, "mostRows": 40})
            for name in ("unlimited", "of two sources", "missing")
        }
        program.ask("/v1/stop", {})
        ended = program.ended()

    assert answer == LIMITS
    told = [queries(state)["limited"] for state in (before, limited, after)]
    assert [(query["mostRows"], query["triggerSeconds"]) for query in told] == [
        (500, 1),
        (40, 3),
        (500, 1),
    ]
    assert len({query["runId"] for query in told}) == 1
    assert "takes no limit of rows" in refusals["unlimited"]
    assert "reads 2 sources" in refusals["of two sources"]
    assert "not just one running query 'missing'" in refusals["missing"]
    assert (ended.stdout, ended.exit_code) == ("main goes on\n", 0)


LIMITS = {"query": "limited", "mostRows": 40, "triggerSeconds": 3}


def keeps(seconds: float) -> Any:
    """Whether the last batches began so many seconds apart."""

    def holds(state: Any) -> bool:
        told = (queries(state).get("limited") or {"batches": []})["batches"][-2:]
        starts = [datetime.fromisoformat(batch["startedAt"]).timestamp() for batch in told]
        return len(starts) == 2 and abs(starts[1] - starts[0] - seconds) < 0.4

    return holds


def refusal(program: Running, limits: dict[str, Any]) -> str:
    """What the agent says when it refuses limits."""
    with pytest.raises(urllib.error.HTTPError, match="409") as refused:
        program.ask("/v1/limits", limits)
    return str(json.load(refused.value)["error"])


def frames(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith('  File "')]
