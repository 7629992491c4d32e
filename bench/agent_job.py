"""What `bench.agent` measures: a driver with some small streaming queries, which tells what it cost.

    python3 agent.pyz bench/agent_job.py --queries 20 --warm-up 30 --seconds 60 --checkpoints /dev/shm

It does nothing itself while it measures, so the processor time of its Python process is the agent's, and
Java's threads that answer py4j answer the agent. With --slice the agent looks and looks away in turn, so that
batches with it and without it meet the same warm driver and the same busy machine.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # PySpark's own name for it

# The usual one forks a process for each file that it writes where Hadoop's native library is missing.
FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
Slice = tuple[float, float, bool]

ANSWERING = ("py4j.", "org.apache.kafka.clients.admin.")

_RELEASING_SECONDS = 1.0
"""After Java's threads were read, Python lets go of a thousand objects, which is not the agent's work."""


def main() -> None:
    options = _options()
    spark = _session(options)
    frames = [_rows(spark, options) for _ in range(options.queries)]
    queries = [
        _start(frame if options.stateless else _counts(frame), number)
        for number, frame in enumerate(frames)
    ]
    time.sleep(options.warm_up)
    java = _java_seconds(spark)
    time.sleep(_RELEASING_SECONDS)
    python, began = _python_seconds(), time.time()
    slices = _slices(options) if options.slice else [(began, began + options.seconds, True)]
    time.sleep(max(0.0, began + options.seconds - time.time()))
    figures = {
        "elapsed": time.time() - began,
        "python": _python_seconds() - python,
        "java": sum(
            seconds - java.get(thread, 0.0) for thread, seconds in _java_seconds(spark).items()
        ),
        "watched": _batch_seconds(queries, [one for one in slices if one[2]]),
        "unwatched": _batch_seconds(queries, [one for one in slices if not one[2]]),
    }
    print(json.dumps(figures), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 bench/agent_job.py")
    parser.add_argument("--queries", type=int, required=True)
    parser.add_argument("--stateless", action="store_true", help="pass rows on, do not count them")
    parser.add_argument("--warm-up", type=float, required=True, help="seconds before measuring")
    parser.add_argument("--seconds", type=float, required=True, help="seconds of measuring")
    parser.add_argument(
        "--slice", type=float, default=0.0, help="seconds to look, and to look away"
    )
    parser.add_argument("--checkpoints", required=True, help="directory for the checkpoints")
    parser.add_argument("--kafka", default="", help="servers:port/topic to read, if not rate")
    parser.add_argument("--jars", default="", help="directory of the Kafka connector's jars")
    return parser.parse_args()


def _session(options: argparse.Namespace) -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.streaming.checkpointFileManagerClass", FILE_MANAGER)
        .config("spark.sql.streaming.checkpointLocation", tempfile.mkdtemp(dir=options.checkpoints))
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


def _slices(options: argparse.Namespace) -> list[Slice]:
    """Let the agent look and look away in turn."""
    agent = sys.modules["sluice_agent.polling"].Poller
    look, slices = agent.poll, []
    until = time.time() + options.seconds
    while time.time() < until:
        for watched in (True, False, False, True):  # so that a trend favours neither
            agent.poll = look if watched else _look_away
            begin = time.time()
            time.sleep(options.slice)
            slices.append((begin, time.time(), watched))
    agent.poll = look
    return slices


def _look_away(_: object) -> None:
    """Do nothing, as if there were no agent."""


def _batch_seconds(queries: list[Any], slices: list[Slice]) -> list[float]:
    """Return how long the batches took that lie in a slice from begin to end."""
    reports = [json.loads(report.json) for query in queries for report in query.recentProgress]
    found = []
    for report in reports:
        begin, seconds = _time(report["timestamp"]), report["batchDuration"] / 1000
        is_within = any(start <= begin and begin + seconds <= end for start, end, _ in slices)
        if "addBatch" in report["durationMs"] and is_within:
            found.append(seconds)
    return found


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    main()
