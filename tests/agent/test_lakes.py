"""Profiles of programs that write to Delta Lake and Iceberg: tables are afterwards what they were.

Both come for releases of Spark that are older than the newest: they are tried with `make spark-versions`.
"""

from pathlib import Path

import pyspark
import pytest

from tests.agent.running import plainly, under_agent
from tests.agent.test_profiled_programs import profile

JARS = {
    "3.5": (
        "io.delta:delta-spark_2.12:3.3.3",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0",
    ),
    "4.1": (
        "io.delta:delta-spark_4.1_2.13:4.3.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    ),
}.get(pyspark.__version__.rpartition(".")[0], ())

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        not JARS,
        reason="both are for PySpark 3.5 and 4.1 only: make spark-versions has those",
    ),
]

SESSION = f"""
import os
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.jars.packages", "{",".join(JARS)}")
    .config(
        "spark.sql.extensions",
        "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    )
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.ice.type", "hadoop")
    .config("spark.sql.catalog.ice.warehouse", "lake/ice")
    .config("spark.sql.warehouse.dir", "lake/warehouse")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
rows, lake = spark.range(3), os.path.abspath("lake")
"""

FILLED = (
    SESSION
    + """
for _ in range(2):
    rows.write.format("delta").mode("append").save("lake/delta")
    spark.sql("CREATE TABLE IF NOT EXISTS ice.db.rows (id BIGINT) USING iceberg")
    rows.writeTo("ice.db.rows").append()
"""
)

PROFILED = (
    SESSION
    + """
for text in (
    f"RESTORE TABLE delta.`{lake}/delta` TO VERSION AS OF 0",
    f"CREATE TABLE delta.`{lake}/copy` SHALLOW CLONE delta.`{lake}/delta`",
    f"OPTIMIZE delta.`{lake}/delta`",
    f"VACUUM delta.`{lake}/delta` RETAIN 0 HOURS",
    f"MERGE INTO delta.`{lake}/delta` t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "ALTER TABLE ice.db.rows CREATE BRANCH b",
    "ALTER TABLE ice.db.rows WRITE ORDERED BY id",
    "CALL ice.system.expire_snapshots(table => 'db.rows')",
):
    spark.sql(text)

table = DeltaTable.forPath(spark, "lake/delta")
for write in (
    lambda: table.delete("id = 1"),
    lambda: table.update("id = 1", {"id": "2"}),
    lambda: table.vacuum(1000),
    lambda: table.generate("symlink_format_manifest"),
    lambda: table.upgradeTableProtocol(1, 3),
    lambda: table.addFeatureSupport("deletionVectors"),
    lambda: table.restoreToVersion(0).collect(),
    lambda: table.optimize().where("id = 1").executeCompaction().collect(),
    lambda: table.optimize().executeZOrderBy("id").collect(),
    lambda: table.alias("t").merge(rows, "t.id = 4").whenNotMatchedInsertAll().execute(),
    lambda: hasattr(table, "clone") and table.clone("lake/clone"),  # Delta Lake 4
    lambda: DeltaTable.createIfNotExists(spark).location("lake/new").addColumn("id", "BIGINT").execute(),
    lambda: DeltaTable.convertToDelta(spark, f"parquet.`{lake}/parquet`"),
):
    write()

read = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load("lake/delta")
to_delta = read.writeStream.option("checkpointLocation", "cp/delta").start("lake/out", format="delta")
to_iceberg = read.writeStream.format("iceberg").option("checkpointLocation", "cp/iceberg")
for query in (to_delta, to_iceberg.toTable("ice.db.out")):
    query.processAllAvailable()
    print(sum(progress["numInputRows"] for progress in query.recentProgress))

print(table.toDF().count(), table.history().count(), spark.table("ice.db.rows").count())
print(spark.sql(f"DESCRIBE HISTORY delta.`{lake}/delta`").count())
print(spark.sql(f"SELECT * FROM delta.`{lake}/delta` VERSION AS OF 0").count())
print(spark.sql("SELECT * FROM ice.db.rows.snapshots").count())
"""
)


def lake(tmp_path: Path) -> dict[str, bytes]:
    """All files of all tables."""
    found = (path for path in (tmp_path / "lake").rglob("*") if path.is_file())
    return {str(path.relative_to(tmp_path)): path.read_bytes() for path in found}


def test_in_a_profile_no_table_of_a_lake_is_changed_by_any_way_and_all_can_be_read(
    pyz: Path, tmp_path: Path
) -> None:
    (tmp_path / "fill.py").write_text(FILLED)
    filled = plainly(["fill.py"], tmp_path)
    assert filled.exit_code == 0, filled.stderr
    before = lake(tmp_path)
    assert any("_delta_log" in name for name in before)

    (tmp_path / "main.py").write_text(PROFILED)
    done = under_agent(pyz, ["main.py"], tmp_path, **profile(tmp_path))
    assert done.exit_code == 0, done.stderr
    # In Spark 3 Ivy tells before them which settings it loads.
    assert done.stdout.splitlines()[-6:] == ["6", "6", "6 2 6", "2", "3", "2"]
    assert lake(tmp_path) == before
    assert not (tmp_path / "cp").exists()
