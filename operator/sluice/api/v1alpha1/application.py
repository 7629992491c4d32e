"""`spec.application`: the program, its image, and the shape of its pods."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from sluice.api.base import Cpu, Duration, FreeForm, Memory, Model, Rule
from sluice.core import ownedconf, quantities

Name = Annotated[str, Field(min_length=1, max_length=253)]
Argument = Annotated[str, Field(max_length=4096)]
PodPath = Annotated[str, Field(min_length=2, max_length=1024, pattern=r"^/[^\s]*$")]

SPARK_MINIMUM_MEMORY = "450Mi"


def _owned_rule(owned: str, remedy: str) -> Rule:
    """`sparkConf` does not hold a setting, or any setting with a prefix, that the operator decides."""

    def offending(application: Any) -> list[str]:
        return [name for name in application.spark_conf if ownedconf.is_owned(name, owned)]

    if owned.endswith("."):
        cel = f"!has(self.sparkConf) || !self.sparkConf.exists(k, k.startsWith('{owned}'))"
        shown = f"{owned}*"
    else:
        cel = f"!has(self.sparkConf) || !('{owned}' in self.sparkConf)"
        shown = owned
    text = f"sparkConf: {shown} is decided by the operator: {remedy}"
    return Rule(
        cel=cel,
        message=json.dumps(text),
        check=lambda application: not offending(application),
        told=lambda _: text,
    )


class Pod(Model):
    """Resources and template of one kind of pod."""

    memory_overhead: Memory | None = Field(
        None,
        description="Memory of the container beyond the JVM's heap: Python, threads, buffers. Default: "
        "40 % of the heap for the driver, 10 % for an executor, at least 384Mi each. "
        "Too little ends in OutOfMemory.",
    )
    cpu_request: Cpu | None = Field(
        None,
        description="CPU reserved for the pod, in cores. Default: 500m for the driver, one core per task slot "
        "for an executor. Less starts slowly: a cold JVM wants a whole core.",
    )
    cpu_limit: Cpu | None = Field(
        None,
        description="The most CPU that the pod may use, in cores. Default: no limit. Below one core per task "
        "slot, executors need several times as long to start.",
    )
    template: FreeForm | None = Field(
        None,
        description="A partial pod template (metadata, spec) laid over ours: labels, annotations, nodeSelector, "
        "tolerations, affinity, volumes, further containers. Lists are merged by name. It may not ask for more "
        "than the Restricted pod security standard allows.",
    )


class Driver(Pod):
    """The driver pod."""

    memory: Memory = Field(
        "1Gi", description="Heap of the driver's JVM. Spark refuses less than 450Mi."
    )
    stop_deadline: Duration = Field(
        "30s",
        description="How long a driver that is asked to stop may take before it is killed. Killing loses nothing: "
        "the batch that was running is run again.",
    )

    rules = (
        Rule(
            cel=f"quantity(self.memory).compareTo(quantity('{SPARK_MINIMUM_MEMORY}')) >= 0",
            message="'memory: \"' + self.memory + '\" is less than Spark needs; use at least 450Mi'",
            check=lambda self: (
                quantities.memory(self.memory) >= quantities.memory(SPARK_MINIMUM_MEMORY)
            ),
            told=lambda self: (
                f'memory: "{self.memory}" is less than Spark needs; use at least 450Mi'
            ),
        ),
    )


class EnvironmentVariable(Model):
    """One environment variable of the driver and the executors."""

    name: str = Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        max_length=253,
        description="Name of the variable. Names that begin with SLUICE_ are the operator's.",
    )
    value: str | None = Field(
        None,
        max_length=32768,
        description="The value; an empty text if neither this nor valueFrom is given.",
    )
    value_from: FreeForm | None = Field(
        None,
        description="Where the value comes from, as in a pod: secretKeyRef, configMapKeyRef, fieldRef.",
    )

    rules = (
        Rule(
            cel="!(has(self.value) && has(self.valueFrom))",
            message="'value and valueFrom of ' + self.name + ' exclude each other; remove one'",
            check=lambda self: self.value is None or self.value_from is None,
            told=lambda self: f"value and valueFrom of {self.name} exclude each other; remove one",
        ),
        Rule(
            cel="!self.name.startsWith('SLUICE_')",
            message="'name: \"' + self.name + '\" is the operator\\'s; choose a name without SLUICE_'",
            check=lambda self: not self.name.startswith("SLUICE_"),
            told=lambda self: (
                f'name: "{self.name}" is the operator\'s; choose a name without SLUICE_'
            ),
        ),
    )


class Application(Model):
    """The PySpark program and how it is started. A change here needs a new driver."""

    image: str = Field(
        min_length=1,
        max_length=512,
        pattern=r"^[^\s]+$",
        description="Image of the driver and the executors: Python, Java, PySpark 4.2 and the connectors.",
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        "IfNotPresent", description="When the image is pulled, as in a pod."
    )
    image_pull_secrets: list[Name] = Field(
        default=[], max_length=16, description="Names of Secrets that the image is pulled with."
    )
    main_file: PodPath = Field(
        description="The program: absolute path of a .py file inside the image. It runs unchanged.",
    )
    arguments: list[Argument] = Field(
        default=[],
        max_length=256,
        description="Arguments of the program. $(SLUICE_CHECKPOINT_LOCATION) stands "
        "for the checkpoint's place, and so do the other variables of the environment.",
    )
    spark_conf: dict[str, Argument] = Field(
        default={},
        max_length=512,
        description="Spark settings. Those that the operator decides are refused, each with the field to use.",
    )
    environment: list[EnvironmentVariable] = Field(
        default=[],
        max_length=256,
        description="Environment of the driver and the executors.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    python_path: list[PodPath] = Field(
        default=[], max_length=64, description="Directories put in front of Python's module path."
    )
    driver: Driver = Field(default=Driver(), description="The driver pod.")
    executor: Pod = Field(
        default=Pod(),
        description="The executor pods; their number, cores and heap are in spec.executors.",
    )

    rules = tuple(_owned_rule(owned, remedy) for owned, remedy in ownedconf.OWNED_SETTINGS.items())
