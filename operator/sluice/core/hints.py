"""What to do about failures that many people meet: a sentence for the message, never a reason to act.

The texts come from Python, Spark, Kafka and Kubernetes and may change there; then the sentence is missing, and no more.
"""

from collections.abc import Iterable

from sluice.core.application import StreamJob
from sluice.core.quantities import Millicores, format_cpu, mebibytes

APPLY_CRDS = "kubectl apply --server-side --force-conflicts -f crds/"
"""What brings the definitions of our kinds up to this operator: Helm never upgrades them."""

INIT_CONTAINER = "the init container"
"""How one of the users' is called, whose image and memory are not the program's."""

Known = tuple[tuple[str, ...], str]
"""Fragments of what is told, one of which must be in it, and the advice for it."""


def remedy(job: StreamJob, told: str) -> str:
    """A sentence to add to an error, beginning with a space; empty if nothing is known about it."""
    shape = job.application.driver
    room = _room(shape.container_mebibytes, shape.cpu_request, "spec.application.driver")
    init = _init("spec.application.driver")
    return _advice((init, *_of_checkpoints(job), *_of_program(job), *_of_pods(job), room), told)


def executor_remedy(job: StreamJob, told: str) -> str:
    """The same for what keeps an executor from starting, or has ended it."""
    application, field = job.application, "spec.executors.memory and spec.application.executor"
    room = _room(application.executor_mebibytes, application.executor.cpu_request, field)
    init = _init("spec.application.executor")
    return _advice((init, *_of_memory(job), *_of_pods(job), room), told)


def of_ordered_node(told: str) -> str:
    """The same for a pod for which the cluster's autoscaler adds a node, in its words; empty if it does not."""
    return f" The cluster's autoscaler adds a node: {told.rstrip('.')}." if told else ""


def silent_brokers(job: StreamJob) -> str:
    """What to do where brokers do not answer: a sentence, about what keeps a pod from any of them."""
    return (
        f"spec.sources: no broker of {_servers(job) or 'the program'} answers. If they did before, bring them back; "
        "else correct bootstrapServers, open the way to them in network policies, or let the program speak their "
        "protocol (kafka.security.protocol)."
    )


def _servers(job: StreamJob) -> str:
    return ", ".join(server for source in job.sources for server in source.bootstrap_servers)


def _advice(known: Iterable[Known], told: str) -> str:
    for fragments, advice in known:
        if any(fragment in told for fragment in fragments):
            return f" {advice}"
    return ""


def _init(pod: str) -> Known:
    return (INIT_CONTAINER,), f"{pod}.template: mend it in the initContainers there."


def _room(memory: int, cpu: Millicores, field: str) -> Known:
    needed = f"{memory} MiB of memory with its overhead and {format_cpu(cpu)} CPU"
    advice = f"{field}: no node has {needed} free; lower memory or cpuRequest, or add a node."
    return ("Insufficient memory", "Insufficient cpu"), advice


def _of_checkpoints(job: StreamJob) -> tuple[Known, ...]:
    """Spark's words for a checkpoint that it cannot go on from."""
    place = f"spec.checkpoint: {job.checkpoint_location!r}"
    anew = "or begin anew with another spec.checkpoint, which leaves this job's progress behind"
    return (
        (
            ("INVALID_LOG_VERSION", "UnsupportedLogVersion"),
            f"{place} was written by a newer Spark than that of spec.application.image: "
            f"{job.application.image!r}; go back to an image with the newer one, {anew}.",
        ),
        (
            (
                "Failed to read log file",
                "Incomplete log file",
                "JsonEOFException",
                "Unexpected end-of-input",
                "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
                "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
            ),
            f"{place} has a file that is cut off, damaged or missing; restore it from a backup, {anew}.",
        ),
        (
            ("CANNOT_LOAD_STATE_STORE",),
            f"{place} has lost files of its state; restore it from a backup, {anew}.",
        ),
        (
            ("STREAMING_UNFINISHED_REPARTITION_DETECTED",),
            f"{place} was left in the middle of a repartitioning; finish that, restore it from a backup, {anew}.",
        ),
        (
            # The operator gives each query with a name a place; without one, Spark would begin anew each time.
            ("does not support recovering from checkpoint location",),
            "A memory sink goes on from a checkpoint in output mode complete only, so it fails with each driver but "
            "the first: let the program take that mode, or keep its rows by foreachBatch.",
        ),
        (
            (
                "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
                "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
                "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
                "sources in the checkpoint offsets and now there are",
            ),
            f"{place} was written by another query than the program of spec.application.image: "
            f"{job.application.image!r} has; go back to the program that wrote it, {anew}.",
        ),
    )


def _of_program(job: StreamJob) -> tuple[Known, ...]:
    """What the driver's program meets."""
    application = job.application
    return (
        (
            ("can't open file",),
            f"spec.application.mainFile: {application.main_file!r} is not in the image "
            f"{application.image!r}; correct the path or the image.",
        ),
        *_of_kafka(job),
        (
            ("Failed to find data source: kafka", "Failed to find the data source: kafka"),
            f"spec.application.image: {application.image!r} has no Kafka connector for Spark.",
        ),
        *_of_memory(job),
        (
            ("java.lang.OutOfMemoryError",),
            f"spec.application.driver.memory: the driver's Java heap of {mebibytes(application.driver.memory)} MiB was "
            "full; raise it, or collect less there.",
        ),
        (
            # Spark's answer to our secret, where a program says that it runs on one machine.
            ("Secret keys provided via files is only allowed in Kubernetes mode",),
            "The program sets spark.master itself, to another than the cluster's: leave it out of its "
            "SparkSession.builder, for the operator sets it.",
        ),
        (
            ("SparkContext was shut down",),
            "Spark gives up like that when its executors fail one after the other; the driver's log tells how they "
            "ended.",
        ),
        (
            ("ModuleNotFoundError",),
            "spec.application: add the module to the image, or its directory to pythonPath.",
        ),
    )


def _of_kafka(job: StreamJob) -> tuple[Known, ...]:
    """What the brokers say, or do not."""
    topics = ", ".join(topic for source in job.sources for topic in source.topics)
    servers = _servers(job)
    return (
        (
            ("SLUICE_KAFKA_",),
            "SLUICE_KAFKA_BOOTSTRAP_SERVERS and SLUICE_KAFKA_TOPICS are what spec.sources declares, and are set if it "
            f"does; it declares {f'{topics} at {servers}' if job.sources else 'none'}.",
        ),
        (
            ("UnknownTopicOrPartition", "does not host this topic-partition"),
            f"A topic that the program reads or writes does not exist{f' at {servers}' if servers else ''}"
            f"{f' (spec.sources has {topics})' if topics else ''}; create it.",
        ),
        (
            ("data may have been lost", "KAFKA_DATA_LOSS"),
            f"spec.sources{f': of {topics}' if topics else ''}, offsets that the checkpoint goes on from are gone: "
            "their records expired before they were read, or the topic was made anew. To go on with what is there, "
            "set the source's option failOnDataLoss to false in the program; or begin anew with another "
            "spec.checkpoint, which leaves this job's progress behind.",
        ),
        (
            ("No resolvable bootstrap urls", "Failed to create new KafkaAdminClient"),
            f"spec.sources: no server of {servers or 'the program'} can be resolved from the pod; "
            "correct bootstrapServers.",
        ),
        (
            ("Timed out waiting for a node assignment", "before the position for partition"),
            silent_brokers(job),
        ),
        (
            ("SaslAuthenticationException", "UnsupportedSaslMechanismException"),
            f"The brokers{f' at {servers}' if servers else ''} refuse the program's login; correct its options "
            "kafka.sasl.*, or the Secret that they are from.",
        ),
        (
            ("SslAuthenticationException", "SSL handshake failed"),
            f"The program and the brokers{f' at {servers}' if servers else ''} do not agree on TLS; the driver's log "
            "has the reason. Mostly the program's options kafka.ssl.truststore.* lack the authority that signed the "
            "brokers' certificate, or the certificate has other host names than bootstrapServers; brokers that ask for "
            "a certificate want kafka.ssl.keystore.*, too.",
        ),
        (
            ("AdminClient thread has exited",),
            f"Mostly the brokers{f' at {servers}' if servers else ''} speak TLS and the program does not: set its "
            "option kafka.security.protocol to SSL or SASL_SSL. The driver's log has the reason.",
        ),
        (
            ("GroupAuthorizationException",),
            "The brokers do not let the program's login be a consumer of this group; give it the right Read for groups "
            "of this prefix, or let the source's option groupIdPrefix begin with one that it has.",
        ),
        (
            ("TopicAuthorizationException",),
            "The brokers do not let the program's login at a topic"
            f"{f' (spec.sources has {topics})' if topics else ''}; give it the rights Read and Describe for what it "
            "reads, and Write and Describe for what it writes.",
        ),
    )


def _of_memory(job: StreamJob) -> tuple[Known, ...]:
    """How executors tell that they need more than they have: killed by the kernel, or by Java, which ends with 52."""
    shape = job.application.executor
    heap, overhead = mebibytes(shape.memory), mebibytes(shape.overhead)
    return (
        (
            ("possible container OOM", "OOMKilled"),
            f"spec.executors.memory: an executor needed more than {heap} MiB and an overhead of {overhead} MiB; raise "
            "it, or spec.application.executor.memoryOverhead, of which Python lives.",
        ),
        (
            ("Python worker exited unexpectedly",),
            "A Python worker that ends without a word was mostly killed for its memory: all Python of an executor "
            f"lives of spec.application.executor.memoryOverhead, which is {overhead} MiB; raise it.",
        ),
        (
            # Spark tells of a task "(executor 4): java.lang.OutOfMemoryError: ...", and of a pod "exit code: 52".
            ("exit code 52", "exit code: 52", "): java.lang.OutOfMemoryError"),
            f"spec.executors.memory: a Java heap of {heap} MiB was full; raise it, or read fewer rows a "
            "batch.",
        ),
    )


def _of_pods(job: StreamJob) -> tuple[Known, ...]:
    """What keeps any pod from starting."""
    image, claim = job.application.image, job.checkpoint.claim
    return (
        (
            ("ErrImagePull", "ImagePullBackOff", "InvalidImageName"),
            f"spec.application.image: {image!r} cannot be pulled; correct the name, push the "
            "image, or name its registry's login in spec.application.imagePullSecrets.",
        ),
        (
            ("exceeded quota", "failed quota"),
            f"Raise that ResourceQuota of the namespace {job.key.namespace!r}, or ask for less: by spec.executors, or "
            "the memory and cpuRequest of spec.application.",
        ),
        (
            (f'persistentvolumeclaim "{claim}"', f'persistentvolumeclaims "{claim}"'),
            f"spec.checkpoint.claim: {claim!r} must exist in the namespace {job.key.namespace!r} and be bound; create "
            "it.",
        ),
        (
            ("persistentvolumeclaim",),
            "spec.application: the claim that its pod template mounts must exist in the namespace "
            f"{job.key.namespace!r} and be bound; create it, or correct its name.",
        ),
        (
            ("CreateContainerConfigError",),
            "spec.application: create the Secret or ConfigMap that it names, or correct the name.",
        ),
        (
            ("FailedMount",),
            f"spec.application: what its pod template mounts must exist in the namespace {job.key.namespace!r}; "
            "create the Secret or ConfigMap, or correct the name.",
        ),
    )
