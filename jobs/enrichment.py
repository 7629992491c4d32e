"""Look something up for each record: a job bound by waiting, whose capacity grows with executors and not with CPU.

Each Kafka JSON record (key, event_time in ms, sequence) waits --wait-milliseconds, as for the answer of another
service, and goes on with all that it had. One core does 1000 / wait records per second; a task reads one partition of
the topic, so give the topic a multiple of the cores, or set --min-partitions.
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  PySpark's own name for it

EVENT = "key string, event_time long, sequence long"


def parse(records: DataFrame) -> DataFrame:
    """Read the JSON of Kafka's values."""
    return records.select(F.from_json(F.col("value").cast("string"), EVENT).alias("event")).select(
        "event.*"
    )


def look_up(events: DataFrame, wait_milliseconds: int) -> DataFrame:
    """Wait for each record, in the JVM: a Python function would need a worker process and CPU of its own."""
    wait = F.expr(f"reflect('java.lang.Thread', 'sleep', bigint({wait_milliseconds}))")
    # What sleep returns, the text "null", is kept as the answer: the optimizer drops a column that nobody reads.
    return events.withColumn("answer", wait)


def records_for_kafka(events: DataFrame) -> DataFrame:
    """Keep the key, the sequence number and the time."""
    value = F.to_json(F.struct("sequence", "event_time", "key", "answer"))
    return events.select("key", value.alias("value"))


def main() -> None:
    options = _options()
    spark = SparkSession.builder.appName("enrichment").getOrCreate()
    query = (
        records_for_kafka(look_up(parse(_read(spark, options)), options.wait_milliseconds))
        .writeStream.queryName("enrichment")
        .format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap_servers)
        .option("topic", options.output_topic)
        .option("checkpointLocation", options.checkpoint)
        .trigger(processingTime=options.trigger)
        .start()
    )
    query.awaitTermination()


def _read(spark: SparkSession, options: argparse.Namespace) -> DataFrame:
    reader = spark.readStream.format("kafka").option(
        "kafka.bootstrap.servers", options.bootstrap_servers
    )
    reader = reader.option("subscribe", options.input_topic)
    reader = reader.option("startingOffsets", options.starting_offsets)
    if options.max_offsets_per_trigger:
        reader = reader.option("maxOffsetsPerTrigger", options.max_offsets_per_trigger)
    if options.min_partitions:
        reader = reader.option("minPartitions", options.min_partitions)
    return reader.load()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--input-topic", required=True)
    parser.add_argument("--output-topic", required=True)
    parser.add_argument("--checkpoint", required=True, help="directory or URI")
    parser.add_argument(
        "--starting-offsets",
        choices=["earliest", "latest"],
        default="earliest",
        help="the first time",
    )
    parser.add_argument("--trigger", default="2 seconds")
    parser.add_argument("--max-offsets-per-trigger", type=int)
    parser.add_argument("--min-partitions", type=int, help="at least so many tasks per batch")
    parser.add_argument("--wait-milliseconds", type=int, default=10)
    return parser.parse_args()


if __name__ == "__main__":
    main()
