"""Count the views of each advertising campaign, after the Yahoo streaming benchmark.

Kafka JSON events (ad_id, event_type, event_time in ms, sequence) are filtered to views and joined with the static
table of campaigns. Out go windowed counts per campaign, or with --passthrough the enriched views themselves, whose
sequence numbers let a checker count records exactly. Set spark.sql.shuffle.partitions for the counts' state.
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  PySpark's own name for it

CAMPAIGNS = 100
ADS_PER_CAMPAIGN = 10
EVENT = "ad_id string, event_type string, event_time long, sequence long"


def campaigns(spark: SparkSession) -> DataFrame:
    """Make the static table: ad-0 to ad-9 belong to campaign-0, and so on."""
    return spark.range(CAMPAIGNS * ADS_PER_CAMPAIGN).select(
        F.format_string("ad-%d", "id").alias("ad_id"),
        F.format_string("campaign-%d", F.floor(F.col("id") / ADS_PER_CAMPAIGN)).alias(
            "campaign_id"
        ),
    )


def parse(records: DataFrame) -> DataFrame:
    """Read the JSON of Kafka's values."""
    return records.select(F.from_json(F.col("value").cast("string"), EVENT).alias("event")).select(
        "event.*"
    )


def enrich_views(events: DataFrame, table: DataFrame) -> DataFrame:
    """Keep the views and find their campaigns."""
    return events.where("event_type = 'view'").join(F.broadcast(table), "ad_id")


def count_by_window(views: DataFrame, window: str, watermark: str) -> DataFrame:
    """Count the views per campaign and window of event time."""
    timed = views.withColumn("time", F.timestamp_millis("event_time")).withWatermark(
        "time", watermark
    )
    return timed.groupBy("campaign_id", F.window("time", window).alias("window")).count()


def counts_for_kafka(counts: DataFrame) -> DataFrame:
    """Key each count by what it counts, so that later counts of a window follow earlier ones."""
    start = F.unix_millis("window.start").alias("window_start")
    return counts.select(
        F.concat_ws("|", "campaign_id", start).alias("key"),
        F.to_json(F.struct("campaign_id", start, "count")).alias("value"),
    )


def views_for_kafka(views: DataFrame) -> DataFrame:
    """Keep the sequence number and the time of each view."""
    value = F.struct("sequence", "event_time", "ad_id", "campaign_id")
    return views.select(F.col("ad_id").alias("key"), F.to_json(value).alias("value"))


def main() -> None:
    options = _options()
    spark = SparkSession.builder.appName("advertisement").getOrCreate()
    views = enrich_views(parse(_read(spark, options)), campaigns(spark))
    if options.passthrough:
        output = views_for_kafka(views)
    else:
        output = counts_for_kafka(count_by_window(views, options.window, options.watermark))
    query = (
        output.writeStream.queryName("advertisement")
        .format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap_servers)
        .option("topic", options.output_topic)
        .option("checkpointLocation", options.checkpoint)
        # Update, not append: the last windows come out although no later event moves the watermark past them.
        .outputMode("append" if options.passthrough else "update")
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
    parser.add_argument(
        "--passthrough", action="store_true", help="write enriched views instead of counts"
    )
    parser.add_argument("--window", default="10 seconds")
    parser.add_argument("--watermark", default="30 seconds", help="how late an event may be")
    return parser.parse_args()


if __name__ == "__main__":
    main()
