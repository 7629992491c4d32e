"""The Spark settings of a job: the operator's own, and the user's, as `spark-defaults.conf`."""

from collections.abc import Mapping

from sluice.core.application import StreamJob
from sluice.core.quantities import format_cpu, mebibytes
from sluice.manifests import names

LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSS'Z'}{UTC} %p %c{1}: %m%n%ex
logger.kafka.name = org.apache.kafka
logger.kafka.level = warn
"""
"""Kafka's clients would tell of each partition in each batch: in minutes, nodes rotate away what matters in a log."""


def spark_settings(job: StreamJob, incarnation: int) -> dict[str, str]:
    """All settings of one incarnation: defaults that users may change, theirs, and those that we own."""
    return {
        **DEFAULTS,
        **job.application.spark_conf,
        **_cluster(job, incarnation),
        **_resources(job),
        **_SECURITY,
        "spark.sql.streaming.checkpointLocation": job.checkpoint.url,
    }


DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",
    # The session must not wait half a minute for executors: batches do.
    "spark.scheduler.minRegisteredResourcesRatio": "0",
    # Executors whose pods are taken away hand their blocks on; by default the second round of that waits for 30 s.
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    "spark.storage.decommission.rddBlocks.enabled": "true",
    "spark.storage.decommission.replicationReattemptInterval": "5s",
    # A batch stands still so long for tasks that would rather run on an executor that leaves: by Spark's default 3 s,
    # and 3 s more for its machine, which is the pod again. With no wait, tasks would leave their state in each batch.
    "spark.locality.wait": "1s",
    "spark.locality.wait.node": "0s",
    # The time from a lost executor to its replacement is part of every recovery.
    "spark.kubernetes.allocation.batch.size": "20",
    # Spark ends a driver after twice as many failures of executors as it began with, in all its life; since 4.2 a pod
    # that a quota refuses is one each second. A stream goes on with the executors that it has: the operator tells what
    # keeps the others away. Spark remembers when each failed.
    "spark.executor.maxNumFailures": "2147483647",
    "spark.executor.failuresValidityInterval": "10m",
}
"""Other defaults than Spark's, which users may change."""

_SECURITY = {
    "spark.authenticate": "true",
    "spark.authenticate.secret.file": f"{names.AUTH_DIRECTORY}/secret",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
}


def _cluster(job: StreamJob, incarnation: int) -> dict[str, str]:
    settings = {
        "spark.master": "k8s://https://kubernetes.default.svc:443",
        "spark.app.name": job.key.name,
        "spark.kubernetes.namespace": job.key.namespace,
        "spark.kubernetes.container.image": job.application.image,
        "spark.kubernetes.container.image.pullPolicy": job.application.image_pull_policy,
        "spark.kubernetes.driver.pod.name": names.driver_pod(job.key.name),
        "spark.kubernetes.executor.podNamePrefix": f"{job.key.name}-{incarnation}",
        "spark.kubernetes.executor.podTemplateFile": f"{names.CONF_DIRECTORY}/executor.yaml",
        # The driver may not list services or claims, and has none to remove.
        "spark.kubernetes.driver.service.deleteOnTermination": "false",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.driver.port": str(names.DRIVER_PORT),
        "spark.driver.blockManager.port": str(names.BLOCK_MANAGER_PORT),
        "spark.executor.instances": str(job.executors.initial),
        "spark.dynamicAllocation.enabled": "false",
    }
    if job.application.image_pull_secrets:
        secrets = ",".join(job.application.image_pull_secrets)
        settings["spark.kubernetes.container.image.pullSecrets"] = secrets
    return settings


def _resources(job: StreamJob) -> dict[str, str]:
    driver, executor = job.application.driver, job.application.executor
    settings = {
        "spark.driver.memory": f"{mebibytes(driver.memory)}m",
        "spark.executor.cores": str(job.executors.cores),
        "spark.executor.memory": f"{mebibytes(executor.memory)}m",
        "spark.executor.memoryOverhead": f"{mebibytes(executor.overhead)}m",
        "spark.kubernetes.executor.request.cores": format_cpu(executor.cpu_request),
    }
    if executor.cpu_limit is not None:
        settings["spark.kubernetes.executor.limit.cores"] = format_cpu(executor.cpu_limit)
    return settings


_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"})


def properties(settings: Mapping[str, str]) -> str:
    """Settings as a Java properties file, sorted, escaped so that each value is read back as it is."""
    return "".join(
        f"{_escape(name, ' :=')}={_escape(value, '')}\n" for name, value in sorted(settings.items())
    )


def _escape(text: str, separators: str) -> str:
    escaped = text.translate(_ESCAPES)
    for separator in separators:
        escaped = escaped.replace(separator, f"\\{separator}")
    if escaped[:1] in (" ", "#", "!"):
        escaped = f"\\{escaped}"
    return "".join(char if char.isascii() else _utf16(char) for char in escaped)


def _utf16(char: str) -> str:
    """A character as Java's escapes for it: two for one outside the basic plane."""
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
