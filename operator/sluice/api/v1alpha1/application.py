"""`spec.application`: the program, its image, and the shape of its pods."""

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from sluice.api.base import (
    Cpu,
    Duration,
    FreeForm,
    Memory,
    Model,
    Rule,
    enough_memory,
    text_of_form,
)
from sluice.core import ownedconf, quantities
from sluice.core.ownedconf import OWNED_VARIABLES, PROFILE_VARIABLE, is_owned_variable

Name = Annotated[str, Field(min_length=1, max_length=253)]
AccountName = Annotated[
    str,
    *text_of_form(
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "not the name of a service account; use small letters, digits, dashes and dots",
        limit=253,
    ),
]
Argument = Annotated[str, Field(max_length=4096)]
PodPath = Annotated[
    str,
    *text_of_form(
        r"^/[^\s]+$",
        "not a place in the image; write an absolute path without spaces, for example /opt/job.py",
        limit=1024,
    ),
]

Image = Annotated[
    str,
    *text_of_form(
        r"^[^\s]+$",
        "not the name of an image; write one without spaces, for example shop/clicks:1",
        limit=512,
    ),
]
VariableName = Annotated[
    str,
    *text_of_form(
        r"^[A-Za-z_][A-Za-z0-9_]*$",
        "not the name of a variable; use letters, digits and _, with no digit in front",
        limit=253,
    ),
]

SPARK_MINIMUM_MEMORY = "450Mi"


def _refusal(owned: str) -> str:
    shown = f"{owned}*" if owned.endswith(".") else owned
    return f"{shown} is decided by the operator: {ownedconf.OWNED_SETTINGS[owned]}"


def _left_to_the_operator(settings: dict[str, str]) -> dict[str, str]:
    for owned in ownedconf.OWNED_SETTINGS:
        if any(ownedconf.is_owned(name, owned) for name in settings):
            raise PydanticCustomError("form", "{told}", {"told": _refusal(owned)})
    return settings


def _without(owned: str) -> JsonDict:
    is_prefix = owned.endswith(".")
    found = f"self.exists(k, k.startsWith('{owned}'))" if is_prefix else f"('{owned}' in self)"
    return {"rule": f"!{found}", "messageExpression": json.dumps(_refusal(owned))}


SparkConf = Annotated[
    dict[str, Argument],
    AfterValidator(_left_to_the_operator),
    # Rules of the map, not of the application around it: the API server reads all fields of what a rule is about, for
    # each rule and each write, also of a status.
    Field(
        max_length=512,
        json_schema_extra={
            "x-kubernetes-validations": [_without(owned) for owned in ownedconf.OWNED_SETTINGS]
        },
    ),
]


def _fitting_cpu(pod: Any) -> bool:
    if pod.cpu_request is None or pod.cpu_limit is None:
        return True
    return quantities.cpu(pod.cpu_request) <= quantities.cpu(pod.cpu_limit)


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

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            field="cpuLimit",
            cel="!has(self.cpuRequest) || !has(self.cpuLimit) || !isQuantity(self.cpuRequest) || "
            "!isQuantity(self.cpuLimit) || "
            "quantity(self.cpuRequest).compareTo(quantity(self.cpuLimit)) <= 0",
            message="'\\'' + self.cpuLimit + '\\' is less than cpuRequest \\'' + self.cpuRequest + "
            "'\\'; raise it or lower cpuRequest'",
            check=_fitting_cpu,
            told=lambda self: (
                f"'{self.cpu_limit}' is less than cpuRequest '{self.cpu_request}'; "
                "raise it or lower cpuRequest"
            ),
        ),
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

    rules = (*Pod.rules, enough_memory(SPARK_MINIMUM_MEMORY))


class EnvironmentVariable(Model):
    """One environment variable of the driver and the executors."""

    name: VariableName = Field(
        description="Name of the variable. Names that begin with SLUICE_ are the operator's, and so are "
        "SPARK_CONF_DIR and PYSPARK_SUBMIT_ARGS; only SLUICE_PROFILE makes a job a copy whose output goes nowhere.",
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
            field="valueFrom",
            cel="!(has(self.value) && has(self.valueFrom))",
            message="'stands beside value of \\'' + self.name + '\\'; remove one of the two'",
            check=lambda self: self.value is None or self.value_from is None,
            told=lambda self: f"stands beside value of '{self.name}'; remove one of the two",
        ),
        Rule(
            field="name",
            cel=f"(!self.name.startsWith('SLUICE_') || self.name == '{PROFILE_VARIABLE}') && "
            f"!(self.name in {list(OWNED_VARIABLES)})",
            message="'\\'' + self.name + '\\' is the operator\\'s; choose another name'",
            check=lambda self: self.name == PROFILE_VARIABLE or not is_owned_variable(self.name),
            told=lambda self: f"'{self.name}' is the operator's; choose another name",
        ),
    )


class Application(Model):
    """The PySpark program and how it is started. A change here needs a new driver."""

    image: Image = Field(
        description="Image of the driver and the executors: Python, Java, PySpark 4.2, 4.1 or 3.5, and the connectors.",
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        "IfNotPresent", description="When the image is pulled, as in a pod."
    )
    image_pull_secrets: list[Name] = Field(
        default=[], max_length=16, description="Names of Secrets that the image is pulled with."
    )
    service_account: AccountName | None = Field(
        None,
        description="A service account of yours that driver and executors run as, for the identity that a cloud gives "
        "it. It is bound to the rights that a driver needs. Default: the operator makes NAME-driver. Copies that a "
        "profile makes do not run as it.",
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
    spark_conf: SparkConf = Field(
        default={},
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
