"""What is added to failures that many people meet."""

import pytest

from sluice.core.hints import executor_remedy, remedy
from tests.support.jobs import application, job

KAFKA = [{"kafka": {"bootstrapServers": ["broker:9092"], "topics": ["clicks"]}}]


@pytest.mark.parametrize(
    ("told", "parts"),
    [
        ("can't open file '/opt/clicks.py'", ["spec.application.mainFile", "/opt/clicks.py"]),
        (
            "UnknownTopicOrPartitionException: ...",
            ["reads or writes", "spec.sources has clicks", "create it"],
        ),
        ("Failed to create new KafkaAdminClient", ["spec.sources", "broker:9092"]),
        (
            "kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listNodes",
            ["spec.sources", "broker:9092", "network policies", "kafka.security.protocol"],
        ),
        (
            "Timeout of 60000ms expired before the position for partition clicks-2 could be determined",
            ["spec.sources", "broker:9092"],
        ),
        (
            "SaslAuthenticationException: Authentication failed: Invalid username or password",
            ["broker:9092", "login", "kafka.sasl", "Secret"],
        ),
        (
            "UnsupportedSaslMechanismException: Client SASL mechanism 'SCRAM-SHA-512' not enabled in the server",
            ["broker:9092", "kafka.sasl"],
        ),
        (
            "SslAuthenticationException: SSL handshake failed",
            ["broker:9092", "kafka.ssl.truststore", "host names", "log"],
        ),
        (
            "TimeoutException: The AdminClient thread has exited. Call: listNodes",
            ["broker:9092", "TLS", "kafka.security.protocol"],
        ),
        (
            "GroupAuthorizationException: Not authorized to access group: spark-kafka-source-1",
            ["Read", "groupIdPrefix"],
        ),
        (
            "TopicAuthorizationException: Not authorized to access topics: [views]",
            ["spec.sources has clicks", "Read and Describe", "Write and Describe"],
        ),
        (
            "ErrImagePull: not found",
            ["spec.application.image", "shop/clicks:1", "imagePullSecrets"],
        ),
        (
            'persistentvolumeclaim "checkpoints" not found',
            ["spec.checkpoint.claim", "'checkpoints'", "'shop'"],
        ),
        (
            "0/2 nodes: 2 Insufficient memory.",
            ["spec.application.driver", "1434 MiB", "add a node"],
        ),
        (
            "Some data may have been lost because they are not available in Kafka any more; either",
            ["of clicks", "failOnDataLoss", "spec.checkpoint"],
        ),
        (
            "ExecutorLostFailure ... container state: terminated exit code: 52 termination reason: Error",
            ["spec.executors.memory", "heap of 1024 MiB was full"],
        ),
        (
            "AnalysisException: This query does not support recovering from checkpoint location. Delete "
            "file:/checkpoint/clicks/recent/offsets to start over.",
            ["memory sink", "complete", "foreachBatch"],
        ),
        ("ModuleNotFoundError: No module named 'x'", ["pythonPath"]),
        (
            "IllegalArgumentException: Secret keys provided via files is only allowed in Kubernetes mode.",
            ["spark.master", "SparkSession.builder"],
        ),
        (
            "The executor exited with exit code 137(SIGKILL, possible container OOM).",
            ["spec.executors.memory", "1024 MiB", "memoryOverhead"],
        ),
        ("Python worker exited unexpectedly (crashed).", ["memoryOverhead", "384 MiB"]),
        (
            "Lost task 0.5 (198.18.72.94 executor 4): java.lang.OutOfMemoryError: Java heap space",
            ["spec.executors.memory", "heap of 1024 MiB"],
        ),
        (
            "Py4JJavaError: collect: java.lang.OutOfMemoryError: Java heap space",
            ["spec.application.driver.memory", "heap of 1024 MiB"],
        ),
        ("Job 0 cancelled because SparkContext was shut down", ["executors fail", "log"]),
    ],
)
def test_a_known_failure_is_told_with_the_field_the_value_and_the_remedy(
    told: str, parts: list[str]
) -> None:
    advice = remedy(job(sources=KAFKA), told)
    assert advice.startswith(" ")
    for part in parts:
        assert part in advice


@pytest.mark.parametrize(
    "checkpoint", [{"claim": "checkpoints"}, {"uri": "s3a://lake/checkpoints"}], ids=str
)
def test_a_claim_of_the_pod_template_that_is_missing_is_not_taken_for_the_checkpoints(
    checkpoint: dict[str, str],
) -> None:
    told = '0/3 nodes are available: persistentvolumeclaim "models" not found.'
    advice = remedy(job(checkpoint=checkpoint), told)
    assert "spec.checkpoint" not in advice
    assert "pod template" in advice


def test_a_program_that_misses_its_sources_is_told_what_declares_them() -> None:
    told = "exit code 1: KeyError: 'SLUICE_KAFKA_TOPICS' (/opt/main.py, line 5)"
    assert remedy(job(sources=[]), told).endswith(
        "spec.sources declares, and are set if it does; it declares none."
    )


@pytest.mark.parametrize(
    ("told", "parts"),
    [
        ("Unschedulable: 2 Insufficient cpu.", ["spec.executors.memory", "1408 MiB", "1 CPU"]),
        ("FailedMount: no such secret", ["'shop'", "create the Secret or ConfigMap"]),
        ("ErrImagePull: not found", ["spec.application.image", "shop/clicks:1"]),
        ("forbidden: exceeded quota: tight", ["ResourceQuota", "'shop'", "spec.executors"]),
    ],
)
def test_what_keeps_executors_from_starting_is_told_with_their_fields(
    told: str, parts: list[str]
) -> None:
    advice = executor_remedy(job(), told)
    assert "spec.application.driver" not in advice
    for part in parts:
        assert part in advice


def test_an_executor_without_room_is_told_what_it_needs_with_memory_off_the_heap() -> None:
    conf = {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "2g"}
    of = job(application=application(sparkConf=conf))
    assert "3456 MiB" in executor_remedy(of, "Unschedulable: 2 Insufficient memory.")


CHECKPOINTS = {
    "a file of a newer Spark": (
        "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION: Failed to read log file file:/c/offsets/3. "
        "[INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION] UnsupportedLogVersion. The maximum supported log version is v2, "
        "but encountered v9. The log file was produced by a newer version of Spark and cannot be read by this version.",
        "newer Spark than that of spec.application.image: 'shop/clicks:1'",
    ),
    "an empty offset file": (
        "StreamingQueryException: [STREAM_FAILED] Query [id = 9e4e] terminated with exception: Failed to read log file "
        "file:/c/offsets/3. Incomplete log file SQLSTATE: XXKST",
        "cut off, damaged or missing",
    ),
    "an empty commit file": (
        "java.lang.IllegalStateException: Failed to read log file file:/c/commits/3. Incomplete log file in the offset "
        "commit log",
        "cut off, damaged or missing",
    ),
    "a truncated offset file": (
        "com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input: was expecting closing quote for a "
        "string value",
        "cut off, damaged or missing",
    ),
    "no metadata file": (
        "[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] Checkpoint location file:/c is in an inconsistent state: the "
        "metadata file is missing but offset and/or commit logs contain data.",
        "cut off, damaged or missing",
    ),
    "lost state": (
        "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred during loading state. Error "
        "reading delta file file:/c/state/0/1/1.delta",
        "lost files of its state",
    ),
    "another key": (
        "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match existing state key schema.",
        "written by another query",
    ),
    "another value": (
        "[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema does not match existing state value schema.",
        "written by another query",
    ),
    "another operator": (
        "[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful operator name does not match",
        "written by another query",
    ),
    "another source": (
        "assertion failed: There are [1] sources in the checkpoint offsets and now there are [2] sources requested by "
        "the query. Cannot continue.",
        "written by another query",
    ),
}
"""What Spark 4.2 says of checkpoints that were damaged by hand, or opened by other queries."""


@pytest.mark.parametrize(("told", "part"), CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_a_checkpoint_that_cannot_be_used_is_told_with_its_place_and_the_ways_out(
    told: str, part: str
) -> None:
    advice = remedy(job(), told)
    for expected in (part, "spec.checkpoint: 'claim://shop/checkpoints/clicks'", "begin anew"):
        assert expected in advice


@pytest.mark.parametrize("why", ["OOMKilled", "ImagePullBackOff", "no such host"])
def test_what_is_wrong_with_an_init_container_is_not_blamed_on_the_program(why: str) -> None:
    told = f"{why}; the init container fetch failed"
    for advise, pod in ((remedy, "driver"), (executor_remedy, "executor")):
        assert advise(job(), told).startswith(f" spec.application.{pod}.template: ")


def test_an_unknown_failure_is_left_as_it_is() -> None:
    assert remedy(job(), "java.lang.IllegalStateException: 42") == ""
