"""Real programs in a profile: whatever sink they name has nothing afterwards, and the rows went through their plans."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.running import running, under_agent

pytestmark = pytest.mark.spark

SESSION = """
import os, pathlib, sys, time
from pyspark.sql import SparkSession, functions as F
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.warehouse.dir", "out/warehouse")
    .config("spark.sql.streaming.checkpointLocation", "cp/by-conf")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
"""

FILES, LINES = 2, 20

SINKS = (
    SESSION
    + f"""
os.mkdir("in")
for number in range({FILES}):
    pathlib.Path(f"in/{{number}}.txt").write_text("a line\\n" * {LINES})
os.mkdir("out")
lines = spark.readStream.option("maxFilesPerTrigger", 1).text("in")
"""
    + """
def each_batch(frame, batch_id):
    frame.write.mode("append").parquet("out/each-batch")
    pathlib.Path("out/called").write_text("for a batch")
def each_row(row):
    pathlib.Path("out/each-row").write_text("a row")

def named(name, frame=lines):
    return frame.writeStream.queryName(name).option("checkpointLocation", f"cp/{name}")
started = [
    named("files").format("parquet").option("path", "out/files").start(),
    named("by path", lines.selectExpr("value", "value AS part")).partitionBy("part")
    .start("out/by-path", format="json"),
    named("each batch").foreachBatch(each_batch).start(),
    named("each row").foreach(each_row).start(),
    named("table").toTable("lines"),
    named("console").format("console").trigger(processingTime="1 second").start(),
    lines.groupBy("value").count().writeStream.format("memory").outputMode("complete")
    .queryName("counted").start(),
    lines.writeStream.format("csv").start("out/unnamed"),
]
if "SLUICE_PROFILE" in os.environ:
    kafka = named("kafka").format("kafka").option("topic", "views")
    started.append(kafka.option("kafka.bootstrap.servers", "127.0.0.1:1").start())
for query in started:
    query.processAllAvailable()
print(*(sum(progress["numInputRows"] for progress in query.recentProgress) for query in started))
spark.streams.awaitAnyTermination()
"""
)

BATCHES = (
    SESSION
    + """
from pyspark.sql.functions import expr
here = spark.range(3)
here.createOrReplaceTempView("here")
os.mkdir("out")
here.write.mode("overwrite").parquet("out/parquet")
here.write.format("json").save("out/json")
here.write.csv("out/csv", mode="append", header=True)
here.write.partitionBy("id").saveAsTable("saved")
here.write.insertInto("anywhere", overwrite=True)
here.write.jdbc("jdbc:nothing:here", "table", properties={"user": "me"})
here.writeTo("spark_catalog.default.made").using("parquet").tableProperty("a", "b").create()
here.writeTo("spark_catalog.default.made").append()
if spark.version >= "4":
    here.mergeInto("target", expr("target.id = source.id")).whenMatched().delete().merge()
    spark.sql("EXECUTE IMMEDIATE 'CREATE TABLE by_text AS SELECT 1'")
    spark.conf.set("spark.sql.scripting.enabled", "true")
    spark.sql("BEGIN SELECT 1; CREATE TABLE by_script AS SELECT 1; END")
    by_name = "WITH s AS (SELECT 1 AS id) INSERT INTO IDENTIFIER(:t) SELECT id FROM s"
    spark.sql(by_name, args={"t": "told"})
    by_name = "WITH s AS (SELECT 1 AS id) SELECT count(*) AS n FROM IDENTIFIER(:t), s"
    assert spark.sql(by_name, args={"t": "here"}).first().n == 3
    assert [row.x for row in spark.sql("BEGIN DECLARE x INT; SET x = 7; SELECT x; END").collect()] == [7]
here.foreach(lambda row: pathlib.Path("out/each-row").write_text("a row"))
here.foreachPartition(lambda rows: pathlib.Path("out/each-part").write_text("rows"))
print(spark.sql("CREATE TABLE IF NOT EXISTS told (id BIGINT) USING parquet").collect())
spark.sql("INSERT INTO told SELECT id FROM {rows}", rows=here)
spark.sql("FROM here INSERT INTO told SELECT id INSERT INTO other SELECT id")
spark.sql("WITH s AS (SELECT 1 AS id) INSERT INTO told SELECT id FROM s")
spark.sql("WITH s AS (SELECT 1 AS id) MERGE INTO told t USING s ON t.id = s.id WHEN MATCHED THEN DELETE")
spark.sql("WITH s AS (SELECT 1 AS id) DELETE FROM told WHERE id IN (SELECT id FROM s)")
print(spark.catalog.createTable("listed", source="parquet", schema=here.schema).count())
print(spark.catalog.tableExists("listed"), spark.catalog.currentDatabase())
spark.sql("SELECT * FROM here WHERE id > :least", args={"least": 0}).createTempView("many")
spark.sql("SET spark.sql.shuffle.partitions=2")
print(spark.sql("SELECT count(*) AS n FROM many").first().n, spark.table("here").count())
print([row.tableName for row in spark.sql("SHOW TABLES").collect()])
for text in ("SELEKT", "SELECT * FROM nowhere"):
    try:
        spark.sql(text)
    except Exception as error:
        print(type(error).__name__)
"""
)


def profile(tmp_path: Path, **changes: Any) -> dict[str, str]:
    """The variable of a profile whose checkpoints are beside the program's own."""
    word = {
        "sinks": "drop",
        "checkpoint": f"{tmp_path}/copy/",
        "startingOffsets": "earliest",
        "groupPrefix": "sluice-profile-views",
        "mostRows": None,
        **changes,
    }
    return {"SLUICE_PROFILE": json.dumps(word)}


def written(tmp_path: Path) -> set[str]:
    """What the program has made where its sinks are."""
    made = tmp_path / "out"
    return {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}


def queries(state: Any) -> dict[str, Any]:
    return {query["name"] or "unnamed": query for query in state["queries"]}


def all_committed(number: int, batches: int) -> Any:
    return lambda state: (
        sum(len(query["batches"]) >= batches for query in state["queries"]) == number
    )


def test_in_a_profile_every_query_runs_and_no_sink_of_the_program_has_anything(
    pyz: Path, tmp_path: Path
) -> None:
    program_file = tmp_path / "main.py"
    program_file.write_text(SINKS)
    with running(pyz, program_file, **profile(tmp_path)) as program:
        state = program.wait_for("all batches", all_committed(9, FILES))
        program.ask("/v1/stop", {})
        ended = program.ended()

    assert written(tmp_path) == set()
    assert not (tmp_path / "cp").exists()
    rows = ended.stdout.split()
    assert rows == [str(FILES * LINES)] * 9
    told = {name: query["profile"] for name, query in queries(state).items()}
    dropped = {name: {"sink": sink, "kind": "dropped"} for name, sink in SINKS_DROPPED.items()}
    assert told == {
        **dropped,
        "each batch": {"sink": "foreachBatch", "kind": "lowerBound"},
        "each row": {"sink": "foreach", "kind": "lowerBound"},
    }
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {
        *("files", "by-path", "each-batch", "each-row", "table", "console", "counted", "kafka"),
        "q0",
    }
    for query in state["queries"]:
        assert [batch["cold"] for batch in query["batches"]][-1] is False
        assert [batch["rows"] for batch in query["batches"]][:FILES] == [LINES] * FILES
    first = min(state["queries"], key=lambda query: query["batches"][0]["startedAt"])
    assert first["batches"][0]["cold"], "the first batch is cold"
    assert queries(state)["console"]["triggerSeconds"] == 1


SINKS_DROPPED = {
    "files": "parquet",
    "by path": "json",
    "table": "table",
    "console": "console",
    "counted": "memory",
    "unnamed": "csv",
    "kafka": "kafka",
}


def test_without_a_profile_the_same_program_writes_to_its_sinks(pyz: Path, tmp_path: Path) -> None:
    program_file = tmp_path / "main.py"
    program_file.write_text(SINKS)
    with running(pyz, program_file) as program:
        state = program.wait_for("all batches", all_committed(8, FILES))
        program.ask("/v1/stop", {})
        ended = program.ended()

    tops = {name.split("/")[0] for name in written(tmp_path)}
    assert tops == {
        *("files", "by-path", "each-batch", "called", "each-row", "warehouse", "unnamed"),
    }
    assert "Batch: 0" in ended.stdout
    assert {"files", "by path", "each batch", "by-conf"} <= {
        path.name for path in (tmp_path / "cp").iterdir()
    }
    assert not any("profile" in query for query in state["queries"])


def test_in_a_profile_batch_writes_and_sql_that_writes_come_to_nothing(
    pyz: Path, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text(BATCHES)
    done = under_agent(pyz, ["main.py"], tmp_path, **profile(tmp_path))

    assert done.exit_code == 0, done.stderr
    assert written(tmp_path) == set()
    assert done.stdout.splitlines() == [
        "[]",
        "0",
        "False default",
        "2 3",
        "['here', 'many']",
        "ParseException",
        "AnalysisException",
    ]


WITH_A_LONG_PERIOD = (
    SESSION
    + """
os.mkdir("in")
for number in range(3):
    pathlib.Path(f"in/{number}.txt").write_text("a line\\n")
lines = spark.readStream.option("maxFilesPerTrigger", 1).text("in")
lines.writeStream.queryName("views").trigger(processingTime="15 minutes").start(
    "out", format="text"
).awaitTermination()
"""
)


def test_batches_that_are_given_their_sizes_do_not_wait_for_the_programs_trigger(
    pyz: Path, tmp_path: Path
) -> None:
    program_file = tmp_path / "main.py"
    program_file.write_text(WITH_A_LONG_PERIOD)
    with running(pyz, program_file, **profile(tmp_path, mostRows=500)) as program:
        state = program.wait_for("all batches", all_committed(1, 3))
        program.ask("/v1/stop", {})
        program.ended()
    assert queries(state)["views"]["triggerSeconds"] == 0
