"""The agent beside the executors of a small cluster of Spark's own: each test starts a driver and its executors."""

from pathlib import Path
from typing import Any

import pytest

from tests.agent.running import running
from tests.agent.streaming import SESSION, all_committed, queries, write

pytestmark = pytest.mark.spark

CLUSTER = (
    SESSION.replace('"local[2]"', '"local-cluster[2,1,600]"').replace(
        ".getOrCreate()",
        """.config("spark.executor.memory", "600m").config("spark.executor.instances", "1")
    .config("spark.cores.max", "2").config("spark.decommission.enabled", "true").getOrCreate()""",
    )
    + """
start(rate, "scaled")
spark.streams.awaitAnyTermination()
"""
)


CROWDED = CLUSTER.replace(
    'start(rate, "scaled")',
    """
import time
from pyspark.sql.functions import udf

@udf("long")
def slow(value):
    time.sleep(300)
    return value

rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 7).option("numPartitions", 7).load()
start(rows.select(slow("value")), "slow")
""",
)

UNANSWERED = CROWDED.replace(
    ".getOrCreate()", '.config("spark.task.maxFailures", "99").getOrCreate()'
).replace("time.sleep(300)", "time.sleep(1); raise ValueError('no answer from the shop')")

REDUCING = CLUSTER.replace(
    'start(rate, "scaled")',
    """
import os, threading
spark.conf.set("spark.sql.shuffle.partitions", "8")
notes, there = os.path.abspath("notes"), os.path.abspath("there")

@F.udf("long")
def noted(value):
    with open(notes, "a") as file:
        file.write(f"{value}\\n")
    return value

@F.udf("long")
def slowly(count):
    time.sleep(1)
    return count

def watch():
    backend = spark.sparkContext._jsc.sc().schedulerBackend()
    while True:
        with open(there, "a") as file:
            file.write(backend.getExecutorIds().mkString(",") + "\\n")
        time.sleep(0.2)

threading.Thread(target=watch, daemon=True).start()
source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 8)
rows = source.option("numPartitions", 2).load().select(noted("value").alias("value"))
counts = rows.groupBy("value").agg(F.count("*").alias("count"))
start(counts.select("value", slowly("count")), "reducing", "update")
""",
)
"""Tasks that take a second each look for what others have written; those are noted, and who is there."""


def test_executors_are_removed_and_added_while_the_query_runs(pyz: Path, tmp_path: Path) -> None:
    with running(pyz, write(tmp_path, CLUSTER)) as program:
        before = program.wait_for(
            "two executors", lambda state: state["executors"]["ids"] == ["0", "1"]
        )
        program.wait_for("a batch", all_committed("scaled"))
        answer = program.ask("/v1/executors", {"target": 1})
        again = program.ask("/v1/executors", {"target": 1})
        smaller = program.wait_for("one executor", lambda state: state["executors"]["ids"] == ["0"])
        program.wait_for("a batch on it alone", lambda state: (1, False) in crews(state))
        program.ask("/v1/executors", {"target": 2})
        larger = program.wait_for(
            "a new executor", lambda state: state["executors"]["ids"] == ["0", "2"]
        )
        warm = program.wait_for("a batch on it", lambda state: crews(state)[-1:] == [(2, False)])
        used = program.wait_for(
            "tasks on both after a batch of theirs",
            lambda state: all(one["tasks"] and one["batches"] for one in work(state).values()),
        )

    assert before["executors"]["target"] == 1
    assert answer == {"target": 1, "registered": 1, "decommissioning": ["1"]}
    assert again == {"target": 1, "registered": 1, "decommissioning": []}
    assert (smaller["executors"]["target"], smaller["executors"]["registered"]) == (1, 1)
    assert larger["executors"]["target"] == 2
    assert queries(larger)["scaled"]["error"] is None
    told = crews(warm)
    assert told[0][1], "the first batch is cold"
    assert (2, True) in told[told.index((1, False)) :], "the new executor's first batch is cold"
    assert warm["executors"]["cpu"] > smaller["executors"]["cpu"] > 0
    assert (queries(warm)["scaled"]["triggerSeconds"], queries(warm)["scaled"]["mostRows"]) == (
        1,
        None,
    )
    old, new = work(used)["0"], work(used)["2"]
    assert old["seconds"] > new["seconds"]
    assert old["batches"] > new["batches"]
    assert old["tasksOfAll"] > new["tasksOfAll"] >= new["tasks"]


def test_tasks_that_wait_for_a_core_are_told_while_the_first_batch_runs(
    pyz: Path, tmp_path: Path
) -> None:
    with running(pyz, write(tmp_path, CROWDED)) as program:
        crowded = program.wait_for(
            "a task on each of two cores", lambda state: state["executors"]["waitingTasks"] == 5
        )
        told = program.wait_for("a batch", lambda state: queries(state)["slow"]["inBatchSince"])

    assert crowded["executors"]["work"]
    assert queries(told)["slow"]["lastBatch"] is None


def test_tasks_that_fail_are_told_with_their_error_before_the_query_fails(
    pyz: Path, tmp_path: Path
) -> None:
    with running(pyz, write(tmp_path, UNANSWERED)) as program:
        failing = program.wait_for(
            "two tasks have failed",
            lambda state: (state["executors"]["failingTasks"] or {"failed": 0})["failed"] >= 2,
        )

    told = failing["executors"]["failingTasks"]
    assert told["completed"] == 0
    assert "ValueError: no answer from the shop" in told["error"]
    assert "at org.apache.spark" not in told["error"]
    assert queries(failing)["slow"]["active"]


def test_executors_that_are_named_leave_and_the_target_stays(pyz: Path, tmp_path: Path) -> None:
    with running(pyz, write(tmp_path, CLUSTER)) as program:
        program.wait_for("two executors", lambda state: state["executors"]["ids"] == ["0", "1"])
        program.wait_for("a batch", all_committed("scaled"))
        program.ask("/v1/executors", {"target": 2})
        answer = program.ask("/v1/decommission", {"executors": ["0", "77"]})
        # For the target stays, Spark may have another one there in its place before anybody looks.
        after = program.wait_for("its end", lambda state: "0" not in state["executors"]["ids"])

    assert "1" in after["executors"]["ids"]
    assert answer == {"decommissioning": ["0"]}
    assert after["executors"]["target"] == 2
    assert queries(after)["scaled"]["error"] is None


def test_an_executor_stays_until_nobody_needs_what_it_did_and_nothing_is_done_twice(
    pyz: Path, tmp_path: Path
) -> None:
    notes, there = tmp_path / "notes", tmp_path / "there"
    with running(pyz, write(tmp_path, REDUCING)) as program:
        program.wait_for("two executors", lambda state: state["executors"]["ids"] == ["0", "1"])
        program.wait_for("a batch", all_committed("reducing"))
        begun = len(notes.read_text().split()) // 8 * 8 + 8
        program.wait_for("all rows of another", lambda _: len(notes.read_text().split()) >= begun)
        program.ask("/v1/executors", {"target": 1})
        program.wait_for("its end", lambda _: there.read_text().endswith("\n0\n"))
        program.wait_for("more rows", lambda _: len(notes.read_text().split()) >= begun + 16)

    values = [int(value) for value in notes.read_text().split()]
    assert len(values) == len(set(values))


def work(state: Any) -> dict[str, dict[str, Any]]:
    """What each executor did, by its id."""
    return {one["id"]: one for one in state["executors"]["work"]}


def crews(state: Any) -> list[tuple[int, bool]]:
    """The executors of each batch, and whether one of them was new."""
    return [(batch["executors"], batch["cold"]) for batch in queries(state)["scaled"]["batches"]]
