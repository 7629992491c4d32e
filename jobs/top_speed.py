"""Find the top speed of each car per window, after Flink's TopSpeedWindowing: a stateful job with many keys.

Kafka JSON events (car_id, speed in km/h, distance in m, event_time in ms, sequence) become the highest speed of each
car in tumbling windows, or in sliding ones with --slide. Set spark.sql.shuffle.partitions for the state.
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  PySpark's own name for it

EVENT = "car_id string, speed double, distance double, event_time long, sequence long"


def parse(records: DataFrame) -> DataFrame:
    """Read the JSON of Kafka's values."""
    return records.select(F.from_json(F.col("value").cast("string"), EVENT).alias("event")).select(
        "event.*"
    )


def top_speeds(events: DataFrame, window: str, slide: str, watermark: str) -> DataFrame:
    """Take the highest speed per car and window of event time, and how far the car had come."""
    timed = events.withColumn("time", F.timestamp_millis("event_time")).withWatermark(
        "time", watermark
    )
    return timed.groupBy("car_id", F.window("time", window, slide).alias("window")).agg(
        F.max("speed").alias("top_speed"), F.max("distance").alias("distance")
    )


def speeds_for_kafka(speeds: DataFrame) -> DataFrame:
    """Key each speed by car and window, so that later values follow earlier ones."""
    start = F.unix_millis("window.start").alias("window_start")
    return speeds.select(
        F.concat_ws("|", "car_id", start).alias("key"),
        F.to_json(F.struct("car_id", start, "top_speed", "distance")).alias("value"),
    )


def main() -> None:
    options = _options()
    spark = SparkSession.builder.appName("top-speed").getOrCreate()
    speeds = top_speeds(
        parse(_read(spark, options)),
        options.window,
        options.slide or options.window,
        options.watermark,
    )
    query = (
        speeds_for_kafka(speeds)
        .writeStream.queryName("top_speed")
        .format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap_servers)
        .option("topic", options.output_topic)
        .option("checkpointLocation", options.checkpoint)
        # Update, not append: the last windows come out although no later event moves the watermark past them.
        .outputMode("update")
        .trigger(processingTime=options.trigger)
        .start()
    )
    query.awaitTermination()


def _read(spark: SparkSession, options: argparse.Namespace) -> DataFrame:
    reader = spark.readStream.format("kafka").option(
        "kafka.bootstrap.servers", options.bootstrap_servers
    )
    reader = reader.option("subscribe", options.input_topic).option("startingOffsets", "earliest")
    # By Kafka's default a task waits up to half a second for the row after its last one.
    reader = reader.option("kafka.fetch.max.wait.ms", 10)
    if options.max_offsets_per_trigger:
        reader = reader.option("maxOffsetsPerTrigger", options.max_offsets_per_trigger)
    return reader.load()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--input-topic", required=True)
    parser.add_argument("--output-topic", required=True)
    parser.add_argument("--checkpoint", required=True, help="directory or URI")
    parser.add_argument("--trigger", default="2 seconds")
    parser.add_argument("--max-offsets-per-trigger", type=int)
    parser.add_argument("--window", default="10 seconds")
    parser.add_argument("--slide", help="start a window this often instead of one after the other")
    parser.add_argument("--watermark", default="30 seconds", help="how late an event may be")
    return parser.parse_args()


if __name__ == "__main__":
    main()
