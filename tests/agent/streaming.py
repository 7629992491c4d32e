"""Streaming programs for the agent, each for a driver of its own, and what is told of their queries."""

import textwrap
from pathlib import Path
from typing import Any

SESSION = """
import sys, time
from pyspark.sql import SparkSession, functions as F
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
rate = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
def start(frame, name, mode="append"):
    writer = frame.writeStream.format("noop").queryName(name).outputMode(mode)
    return writer.trigger(processingTime="1 second").start()
"""


def write(tmp_path: Path, program: str) -> Path:
    path = tmp_path / "main.py"
    path.write_text(textwrap.dedent(program))
    return path


def queries(state: Any) -> dict[str, Any]:
    return {query["name"]: query for query in state["queries"]}


def all_committed(*names: str) -> Any:
    return lambda state: all(
        (queries(state).get(name) or {"lastBatch": None})["lastBatch"] for name in names
    )
