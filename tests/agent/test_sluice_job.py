"""What a program gets from `import sluice_job`: each batch once, although it is run twice."""

from pathlib import Path

import pytest

from tests.agent.running import under_agent

WRITING = """
import pathlib, sys
from pyspark.sql import SparkSession
import sluice_job
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
spark.sparkContext.setLocalProperty("sql.streaming.queryId", "query-1")
here = pathlib.Path.cwd().as_uri()
def rows(count):
    return spark.range(count)
def lines(kind):
    return spark.read.json(f"{here}/{kind}").count()

write = sluice_job.to_directory(f"{here}/files", format="json")
for batch, count in ((0, 3), (1, 4), (1, 4), (2, 5)):
    write(rows(count), batch)
print("files", lines("files"))

def append(frame, batch):
    frame.write.mode("append").json(f"{here}/rows")
write = sluice_job.once(append, ledger=f"{here}/ledger")
for batch, count in ((0, 3), (1, 4), (1, 4), (2, 5)):
    write(rows(count), batch)
def fail(frame, batch):
    raise ValueError("the target is away")
try:
    sluice_job.once(fail, ledger=f"{here}/ledger")(rows(9), 3)
except ValueError:
    write(rows(9), 3)
print("rows", lines("rows"))

me = sluice_job.identity()
print(me.uid, me.incarnation, me.batch(7))
print(sluice_job.transaction(7))
print(sluice_job.transaction(7, "late"))
spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)
try:
    write(rows(9), 3)
except RuntimeError as error:
    print(error)
"""

MOVING = """
import pathlib
from pyspark.sql import SparkSession
import sluice_job
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
here = pathlib.Path.cwd()
names = []

def append(rows, batch):
    names.append(sluice_job.transaction(batch)["txnAppId"])
    rows.write.mode("append").text(f"{here}/rows")

def run(day, checkpoint):
    (here / "in" / day).mkdir(parents=True, exist_ok=True)
    (here / "in" / day / "rows").write_text(day)
    lines = spark.readStream.text(f"{here}/in/{day}")
    for kind, write in (
        ("files", sluice_job.to_directory(f"{here}/files", format="text")),
        ("rows", sluice_job.once(append, ledger=f"{here}/ledger")),
    ):
        writer = lines.writeStream.foreachBatch(write).trigger(availableNow=True)
        place = f"{here}/checkpoints/{checkpoint}-{kind}"
        writer.option("checkpointLocation", place).start().awaitTermination()

run("monday", "old")
run("tuesday", "new")
(commit,) = (here / "checkpoints/new-rows/commits").glob("0")
commit.unlink()
(here / "checkpoints/new-rows/commits/.0.crc").unlink()
run("tuesday", "new")
for kind in ("files", "rows"):
    print(kind, sorted(row.value for row in spark.read.text(f"{here}/{kind}").collect()))
print(len(names), len(set(names)))
"""


@pytest.mark.spark
def test_a_batch_that_runs_again_is_written_once(pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(WRITING)
    environment = {
        "SLUICE_JOB_UID": "uid-7",
        "SLUICE_INCARNATION": "4",
        "SLUICE_CHECKPOINT_LOCATION": "file:///checkpoint/views",
    }
    done = under_agent(pyz, ["main.py"], tmp_path, **environment)
    assert done.exit_code == 0, done.stderr
    *told, refused = done.stdout.splitlines()[-6:]
    assert told == [
        "files 12",
        "rows 21",
        "uid-7 4 uid-7/4/7",
        "{'txnAppId': 'query-1', 'txnVersion': '7'}",
        "{'txnAppId': 'query-1/late', 'txnVersion': '7'}",
    ]
    assert "call it within foreachBatch" in refused


@pytest.mark.spark
def test_batches_of_another_checkpoint_have_the_same_ids_and_are_no_second_run(
    pyz: Path, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text(MOVING)
    done = under_agent(pyz, ["main.py"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == [
        "files ['monday', 'tuesday']",
        "rows ['monday', 'tuesday']",
        "2 2",
    ]


def test_a_module_that_the_program_brings_is_taken_before_ours(pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "sluice_job.py").write_text("WHOSE = 'the program'")
    (tmp_path / "main.py").write_text("import sluice_job; print(sluice_job.WHOSE)")
    assert under_agent(pyz, ["main.py"], tmp_path).stdout == "the program\n"
