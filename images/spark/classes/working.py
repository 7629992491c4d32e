"""Do what drivers and executors do at first, so that their JVMs list the classes of it: working.py LIST LIST."""

import sys
import tempfile
from contextlib import suppress

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming import StreamingQuery

BATCHES = 3

NOBODY = "127.0.0.1:9"
"""Where nothing listens."""


def session(driver_list: str, executor_list: str) -> SparkSession:
    """A driver with one executor, each a JVM of its own."""
    builder = SparkSession.builder.master("local-cluster[1,1,512]")
    for name, value in {
        "spark.driver.extraJavaOptions": f"-XX:DumpLoadedClassList={driver_list}",
        "spark.executor.extraJavaOptions": f"-XX:DumpLoadedClassList={executor_list}",
        "spark.executor.memory": "512m",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def counted(rows: DataFrame) -> DataFrame:
    """A plan with state, a watermark and a function in Python."""
    parity = sql.udf(lambda value: value % 2, "long")
    timed = rows.withColumn("parity", parity("value")).withWatermark("timestamp", "5 seconds")
    return timed.groupBy(sql.window("timestamp", "5 seconds"), "parity").count()


def through_json(rows: DataFrame) -> DataFrame:
    """A plan that reads, checks and writes records as those of Kafka are."""
    text = rows.select(sql.to_json(sql.struct("timestamp", "value")).alias("text"))
    read = text.select(sql.from_json("text", "timestamp timestamp, value long").alias("record"))
    kept = read.select("record.*").where("value % 3 != 0").dropna()
    return kept.select(sql.to_json(sql.struct("*")).alias("value"))


def reach_for_kafka(spark: SparkSession) -> None:
    """Make the clients of a source and a sink, and ask a server that is not there."""
    kafka, settings = spark._jvm.org.apache.kafka, spark._jvm.java.util.Properties()
    for name, value in {
        "bootstrap.servers": NOBODY,
        "group.id": "nobody",
        "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
        "value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
    }.items():
        settings.put(name, value)
    kafka.clients.consumer.KafkaConsumer(settings).close()
    kafka.clients.producer.KafkaProducer(settings).close()
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", NOBODY)
    for name, value in {
        "subscribe": "nothing",
        "kafka.request.timeout.ms": "500",
        "kafka.default.api.timeout.ms": "500",
        "fetchOffset.numRetries": "1",
    }.items():
        source = source.option(name, value)
    with suppress(Exception):
        source.load().count()


def reach_for_kubernetes(spark: SparkSession) -> None:
    """Load what makes executors' pods, and ask an API server that is not there."""
    for name in (
        "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterManager",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterSchedulerBackend",
        "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsAllocator",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        "org.apache.spark.deploy.k8s.KubernetesExecutorConf",
    ):
        spark._jvm.java.lang.Class.forName(name)
    fabric = spark._jvm.io.fabric8.kubernetes
    named = fabric.api.model.PodBuilder().withNewMetadata().withName("nobody").endMetadata()
    pod = named.withNewSpec().addNewContainer().withName("nobody").endContainer().endSpec().build()
    settings = fabric.client.ConfigBuilder().withMasterUrl(f"https://{NOBODY}")
    settings = settings.withConnectionTimeout(500).withRequestRetryBackoffLimit(0).build()
    client = fabric.client.KubernetesClientBuilder().withConfig(settings).build()
    with suppress(Exception):
        client.pods().inNamespace("nobody").resource(pod).create()
    client.close()


def await_batches(query: StreamingQuery) -> None:
    """Wait until some batches are done, and none is at work."""
    done = -1
    while done < BATCHES or query.status["isTriggerActive"]:
        query.awaitTermination(0.1)
        done = done if query.lastProgress is None else query.lastProgress["batchId"]


def main() -> None:
    """Run two queries, one after the other."""
    spark = session(*sys.argv[1:])
    rows = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for number, writer in enumerate(
            (
                counted(rows).writeStream.format("noop").outputMode("update"),
                through_json(rows).writeStream.foreachBatch(lambda batch, _: batch.count()),
            )
        ):
            paced = writer.trigger(processingTime="2 seconds")
            query = paced.option("checkpointLocation", f"{folder}/{number}").start()
            await_batches(query)
            query.stop()
    reach_for_kafka(spark)
    reach_for_kubernetes(spark)
    spark.stop()


if __name__ == "__main__":
    main()
