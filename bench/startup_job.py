"""A driver that works by itself: how long until its session and its first two batches, and the processor time of all.

It is run by `bench.startup` in a pod, as the text of a command.
"""

import json
import os
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

BATCHES = 2


def processor_seconds() -> float:
    """Of all processes here, and of those that have ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # The name, in brackets, may hold spaces.
        fields = stat.read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start a query with state, and print what was measured as JSON."""
    began = time.monotonic()
    builder = SparkSession.builder.master("local[1]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    session = time.monotonic() - began
    rows = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    counted = rows.groupBy(sql.window("timestamp", "5 seconds")).count()
    writer = counted.writeStream.format("noop").outputMode("update")
    query = writer.trigger(processingTime="1 second").start()
    while query.lastProgress is None or query.lastProgress["batchId"] < BATCHES - 1:
        query.awaitTermination(0.1)
    told = {
        "session": session,
        "batches": time.monotonic() - began,
        "processor": processor_seconds(),
    }
    print(json.dumps(told), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
