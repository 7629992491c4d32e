"""What to do about failures that many people meet: a sentence for the message, never a reason to act.

The texts come from Python, Spark, Kafka and Kubernetes and may change there; then the sentence is missing, and no more.
"""

from sluice.core.application import StreamJob
from sluice.core.quantities import format_cpu, mebibytes


def remedy(job: StreamJob, told: str) -> str:
    """A sentence to add to an error, beginning with a space; empty if nothing is known about it."""
    for fragments, advice in _known(job):
        if any(fragment in told for fragment in fragments):
            return f" {advice}"
    return ""


def _known(job: StreamJob) -> tuple[tuple[tuple[str, ...], str], ...]:
    application = job.application
    topics = ", ".join(topic for source in job.sources for topic in source.topics)
    servers = ", ".join(server for source in job.sources for server in source.bootstrap_servers)
    return (
        (
            ("can't open file",),
            f"spec.application.mainFile: {application.main_file!r} is not in the image "
            f"{application.image!r}; correct the path or the image.",
        ),
        (
            ("UnknownTopicOrPartition", "does not host this topic-partition"),
            f"spec.sources: a topic does not exist at {servers or 'the brokers'}"
            f"{f' (declared: {topics})' if topics else ''}; create it.",
        ),
        (
            ("No resolvable bootstrap urls", "Failed to create new KafkaAdminClient"),
            f"spec.sources: no server of {servers or 'the program'} can be resolved from the pod; "
            "correct bootstrapServers.",
        ),
        (
            ("Failed to find data source: kafka", "Failed to find the data source: kafka"),
            f"spec.application.image: {application.image!r} has no Kafka connector for Spark.",
        ),
        (
            ("ErrImagePull", "ImagePullBackOff", "InvalidImageName"),
            f"spec.application.image: {application.image!r} cannot be pulled; correct the name, push the "
            "image, or name its registry's login in spec.application.imagePullSecrets.",
        ),
        (
            ("persistentvolumeclaim",),
            f"spec.checkpoint.claim: {job.checkpoint.claim!r} must exist in the namespace "
            f"{job.key.namespace!r} and be bound; create it.",
        ),
        (
            ("Insufficient memory", "Insufficient cpu"),
            f"spec.application.driver: no node has {mebibytes(application.driver.memory)} MiB of memory "
            f"with its overhead and {format_cpu(application.driver.cpu_request)} CPU free; lower memory or "
            "cpuRequest, or add a node.",
        ),
        (
            ("CreateContainerConfigError",),
            "spec.application: create the Secret or ConfigMap that it names, or correct the name.",
        ),
        (
            ("ModuleNotFoundError",),
            "spec.application: add the module to the image, or its directory to pythonPath.",
        ),
    )
