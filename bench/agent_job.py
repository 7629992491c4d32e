"""What `bench.agent` measures: a driver with some small streaming queries, which tells what it cost.

    python3 bench/agent_job.py --queries 20 --warm-up 30 --seconds 60

It runs alone or under the agent, and does nothing itself while it measures. So the processor time of its
Python process is the agent's, and Java's threads that answer py4j answer the agent.
"""

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # PySpark's own name for it

ANSWERING = ("py4j.", "org.apache.kafka.clients.admin.")


def main() -> None:
    options = _options()
    spark = _session(options)
    frames = [_rows(spark, options) for _ in range(options.queries)]
    queries = [
        _start(frame if options.stateless else _counts(frame), number)
        for number, frame in enumerate(frames)
    ]
    time.sleep(options.warm_up)
    java, python, began = _java_seconds(spark), _python_seconds(), time.time()
    time.sleep(options.seconds)
    figures = {
        "elapsed": time.time() - began,
        "python": _python_seconds() - python,
        "java": sum(
            seconds - java.get(thread, 0.0) for thread, seconds in _java_seconds(spark).items()
        ),
        "batches": [seconds for query in queries for seconds in _batch_seconds(query, began)],
    }
    print(json.dumps(figures), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 bench/agent_job.py")
    parser.add_argument("--queries", type=int, required=True)
    parser.add_argument("--stateless", action="store_true", help="pass rows on, do not count them")
    parser.add_argument("--warm-up", type=float, required=True, help="seconds before measuring")
    parser.add_argument("--seconds", type=float, required=True, help="seconds of measuring")
    parser.add_argument("--kafka", default="", help="servers:port/topic to read, if not rate")
    parser.add_argument("--jars", default="", help="directory of the Kafka connector's jars")
    return parser.parse_args()


def _session(options: argparse.Namespace) -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
    )
    if options.jars:
        jars = ",".join(str(path) for path in sorted(Path(options.jars).glob("*.jar")))
        builder = builder.config("spark.jars", jars)
    return builder.getOrCreate()


def _rows(spark: SparkSession, options: argparse.Namespace) -> DataFrame:
    if options.kafka:
        servers, _, topic = options.kafka.partition("/")
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
        return reader.option("subscribe", topic).load()
    return (
        spark.readStream.format("rate").option("rowsPerSecond", 100).option("numPartitions", 1)
    ).load()


def _counts(rows: DataFrame) -> DataFrame:
    return rows.groupBy((F.unix_timestamp("timestamp") % 10).alias("key")).count()


def _start(rows: DataFrame, number: int) -> Any:
    writer = rows.writeStream.format("noop").outputMode("update").queryName(f"query-{number}")
    return writer.trigger(processingTime="1 second").start()


def _python_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _java_seconds(spark: SparkSession) -> dict[int, float]:
    """Processor seconds so far of the threads that answer from Java."""
    java = spark._jvm.java.lang
    threads, ours = java.management.ManagementFactory.getThreadMXBean(), java.Thread.currentThread()
    found = {}
    for info in threads.getThreadInfo(threads.getAllThreadIds(), 50):
        stack = [] if info is None else [frame.getClassName() for frame in info.getStackTrace()]
        if any(name.startswith(ANSWERING) for name in stack) and info.getThreadId() != ours.getId():
            found[info.getThreadId()] = threads.getThreadCpuTime(info.getThreadId()) / 1e9
    return found


def _batch_seconds(query: Any, began: float) -> list[float]:
    reports = [json.loads(report.json) for report in query.recentProgress]
    return [
        report["batchDuration"] / 1000
        for report in reports
        if "addBatch" in report["durationMs"] and _time(report["timestamp"]) >= began
    ]


def _time(text: str) -> float:
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone


if __name__ == "__main__":
    main()
