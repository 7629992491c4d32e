"""Look something up for each record: a job bound by waiting, whose capacity grows with executors and not with CPU.

Each Kafka JSON record (key, event_time in ms, sequence) waits --wait-milliseconds, as for the answer of another
service, and goes on with all that it had. One core does 1000 / wait records per second; a task reads one partition of
the topic, so give the topic a multiple of the cores, or set --min-partitions. They go to a topic of Kafka, from the
stream or with --sink=foreach-batch batch by batch, or to JSON files, with --sink=table those of a table.
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  PySpark's own name for it
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

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
    rows = records_for_kafka(look_up(parse(_read(spark, options)), options.wait_milliseconds))
    writer = (
        rows.writeStream.queryName("enrichment")
        .option("checkpointLocation", options.checkpoint)
        .trigger(processingTime=options.trigger)
    )
    _start(writer, options).awaitTermination()


def _start(writer: DataStreamWriter, options: argparse.Namespace) -> StreamingQuery:
    kafka = {
        "kafka.bootstrap.servers": options.bootstrap_servers,
        "topic": options.output_topic,
    }

    def write(batch: DataFrame, _batch_id: int) -> None:
        batch.write.format("kafka").options(**kafka).save()

    match options.sink:
        case "foreach-batch":
            return writer.foreachBatch(write).start()
        case "files":
            return writer.format("json").start(options.output_directory)
        case "table":
            files = writer.format("json").option("path", options.output_directory)
            return files.toTable("enriched")
        case _:
            return writer.format("kafka").options(**kafka).start()


def _read(spark: SparkSession, options: argparse.Namespace) -> DataFrame:
    reader = spark.readStream.format("kafka").option(
        "kafka.bootstrap.servers", options.bootstrap_servers
    )
    reader = reader.option("subscribe", options.input_topic)
    reader = reader.option("startingOffsets", options.starting_offsets)
    # By Kafka's default, 500, a task waits so long for the row after its last one.
    reader = reader.option("kafka.fetch.max.wait.ms", options.fetch_max_wait_milliseconds)
    if options.max_offsets_per_trigger:
        reader = reader.option("maxOffsetsPerTrigger", options.max_offsets_per_trigger)
    if options.min_partitions:
        reader = reader.option("minPartitions", options.min_partitions)
    return reader.load()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--input-topic", required=True)
    parser.add_argument(
        "--sink", choices=["kafka", "foreach-batch", "files", "table"], default="kafka"
    )
    parser.add_argument("--output-topic", help="of Kafka")
    parser.add_argument("--output-directory", help="of files, and of the table")
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
    parser.add_argument("--fetch-max-wait-milliseconds", type=int, default=10, help="of Kafka")
    parser.add_argument("--wait-milliseconds", type=int, default=10, help="for each record")
    options = parser.parse_args()
    if options.sink in ("files", "table"):
        if not options.output_directory:
            parser.error(f"--sink={options.sink} needs --output-directory, a directory or URI")
    elif not options.output_topic:
        parser.error(f"--sink={options.sink} needs --output-topic")
    return options


if __name__ == "__main__":
    main()
