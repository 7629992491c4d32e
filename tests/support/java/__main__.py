"""`python -m tests.support.java`: make the archive of the classes that Spark's drivers and executors load at first."""

import os
import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from tests.support import java

BATCHES = 2

OPTIONS = ("-XX:TieredStopAtLevel=1", "-Xss4m", "-Xlog:disable", "-Xlog:all=error:stderr")
"""It is in a hurry, and what it cannot archive of all that it has loaded is of no interest."""


def main() -> None:
    """Run two queries in a JVM that writes, at its end, what it has loaded."""
    java.ARCHIVE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=java.ARCHIVE.parent) as folder:
        unfinished = Path(folder, "spark.jsa")
        os.environ |= {
            **java.environment(f"-XX:ArchiveClassesAtExit={unfinished}", *OPTIONS),
            "SPARK_CONF_DIR": folder,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        work(Path(folder))
        # Only a whole archive is ever seen.
        unfinished.rename(java.ARCHIVE)


def work(folder: Path) -> None:
    """Do what most tests do: batches with and without state, with and without Python, and files."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    gateway = SparkContext._gateway
    assert gateway is not None
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    for number, frame in enumerate((rows, counted(rows))):
        writer = frame.writeStream.outputMode("update").foreachBatch(
            lambda batch, _: batch.write.mode("append").json(f"{folder}/rows")
        )
        query = writer.option("checkpointLocation", f"{folder}/{number}").start()
        while query.lastProgress is None or query.lastProgress["batchId"] < BATCHES:
            query.awaitTermination(0.1)
        query.stop()
    spark.stop()
    # The JVM ends with its standard input, and writes the archive then.
    gateway.proc.stdin.close()
    gateway.proc.wait()


def counted(rows: DataFrame) -> DataFrame:
    """A plan with state, a watermark and a function in Python."""
    parity = sql.udf(lambda value: value % 2, "long")
    timed = rows.withColumn("parity", parity("value")).withWatermark("timestamp", "5 seconds")
    return timed.groupBy("parity").count()


if __name__ == "__main__":
    main()
