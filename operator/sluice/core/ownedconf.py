"""The settings and variables that the operator decides, and where a user says the same thing instead."""

# A name that ends with a dot stands for all settings that begin with it.
OWNED_SETTINGS: dict[str, str] = {
    "spark.master": "the operator sets it; remove it",
    "spark.submit.deployMode": "the driver always runs in client mode in its own pod; remove it",
    "spark.app.name": "the name of the StreamJob is used; remove it",
    "spark.kubernetes.namespace": "the namespace of the StreamJob is used; remove it",
    "spark.kubernetes.container.image": "use spec.application.image",
    "spark.kubernetes.container.image.pullPolicy": "use spec.application.imagePullPolicy",
    "spark.kubernetes.container.image.pullSecrets": "use spec.application.imagePullSecrets",
    "spark.kubernetes.driver.": "the operator creates the driver pod; use spec.application.driver",
    "spark.kubernetes.driverEnv.": "use spec.application.environment",
    "spark.kubernetes.node.selector.": "use nodeSelector in the templates of spec.application.driver and .executor",
    "spark.kubernetes.scheduler.name": "use schedulerName in the templates of spec.application.driver and .executor",
    "spark.kubernetes.memoryOverheadFactor": "use memoryOverhead of spec.application.driver and .executor",
    "spark.kubernetes.authenticate.": "use spec.application.serviceAccount",
    "spark.kubernetes.executor.podTemplateFile": "use spec.application.executor.template",
    "spark.kubernetes.executor.podTemplateContainerName": "the container is 'executor'; remove it",
    "spark.kubernetes.executor.podNamePrefix": "the operator names the executors; remove it",
    "spark.kubernetes.executor.request.cores": "use spec.application.executor.cpuRequest",
    "spark.kubernetes.executor.limit.cores": "use spec.application.executor.cpuLimit",
    "spark.driver.host": "the driver's pod address is used; remove it",
    "spark.driver.bindAddress": "the driver's pod address is used; remove it",
    "spark.driver.port": "the operator fixes the port; remove it",
    "spark.driver.blockManager.port": "the operator fixes the port; remove it",
    "spark.driver.memory": "use spec.application.driver.memory",
    "spark.driver.cores": "use spec.application.driver.cpuRequest",
    "spark.driver.memoryOverhead": "use spec.application.driver.memoryOverhead",
    "spark.driver.memoryOverheadFactor": "use spec.application.driver.memoryOverhead",
    "spark.executor.instances": "use spec.executors.initial",
    "spark.executor.cores": "use spec.executors.cores",
    "spark.executor.memory": "use spec.executors.memory",
    "spark.executor.memoryOverhead": "use spec.application.executor.memoryOverhead",
    "spark.executor.memoryOverheadFactor": "use spec.application.executor.memoryOverhead",
    "spark.dynamicAllocation.": "the operator scales the executors; use spec.executors and spec.scaling",
    "spark.streaming.dynamicAllocation.": "the operator scales the executors; use spec.scaling",
    "spark.authenticate": "the operator makes a secret for each job; remove it",
    "spark.authenticate.": "the operator makes a secret for each job; remove it",
    "spark.network.crypto.": "Spark's own connections are always encrypted; remove it",
    "spark.sql.streaming.checkpointLocation": "use spec.checkpoint",
}


def is_owned(setting: str, owned: str) -> bool:
    """Whether a setting is the owned one, or begins as the owned ones do."""
    return setting == owned or (owned.endswith(".") and setting.startswith(owned))


def is_operators(setting: str) -> bool:
    """Whether the operator decides a setting of a job, but for the name of the application: nothing depends on it."""
    return setting != "spark.app.name" and remedy(setting) is not None


def remedy(setting: str) -> str | None:
    """What is said of a setting that the operator decides; None of another."""
    return next((text for owned, text in OWNED_SETTINGS.items() if is_owned(setting, owned)), None)


OWNED_VARIABLES = ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR")
"""Environment variables without which the driver would not find its settings."""


PROFILE_VARIABLE = "SLUICE_PROFILE"
"""What makes a job a copy for profiling, which writes to no sink. It is in the copy's own spec, so that whoever starts
its driver, a former version of the operator included, either hands it over or refuses the spec.
"""


def is_owned_variable(name: str) -> bool:
    """Whether an environment variable is the operator's."""
    return name.startswith("SLUICE_") or name in OWNED_VARIABLES
