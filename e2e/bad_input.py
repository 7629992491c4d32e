"""Specs that are wrong, one thing each: who must refuse it, and what the refusal must say.

The table goes through the models (`tests/unit/api/test_bad_input.py`) and through a real API server and a
running operator (`e2e/test_bad_input.py`), so that both are known to tell users the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sluice.core.ownedconf import OWNED_SETTINGS

Json = dict[str, Any]

GOOD: Json = {
    "apiVersion": "sluice.dev/v1alpha1",
    "kind": "StreamJob",
    "metadata": {"name": "wrong"},
    "spec": {
        "application": {"image": "shop/clicks:1", "mainFile": "/opt/clicks.py"},
        "executors": {"min": 1, "max": 4},
        "checkpoint": {"claim": "checkpoints", "path": "clicks"},
    },
}


GOOD_PROFILE: Json = {
    "apiVersion": "sluice.dev/v1alpha1",
    "kind": "StreamProfile",
    "metadata": {"name": "wrong"},
    "spec": {"job": "clicks", "executors": [1, 2], "namespaces": ["lab"]},
}


class Refusal(Enum):
    """Where a wrong spec must be caught."""

    SERVER = (
        "the API server refuses it; the operator, too, if it was stored before the rule was there"
    )
    SERVER_ALONE = (
        "the API server refuses it; the models do not see it, or take what was stored before"
    )
    OPERATOR = "the API server cannot see it; the operator says so in the condition SpecValid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One wrong thing. `change` is a merge patch on `base`; `says` are parts of the message."""

    rule: str
    refusal: Refusal
    change: Json
    says: tuple[str, ...]
    base: Json = field(default_factory=lambda: GOOD)

    @property
    def body(self) -> Json:
        """The whole wrong object."""
        return merged(self.base, self.change)


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """A JSON merge patch: None removes, lists are replaced."""
    result = dict(base)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = merged(result.get(key) or {}, value)
        else:
            result[key] = value
    return result


def _server(rule: str, spec: Json, *says: str) -> Row:
    return Row(rule=rule, refusal=Refusal.SERVER, change={"spec": spec}, says=says)


def _server_alone(rule: str, spec: Json, *says: str) -> Row:
    return Row(rule=rule, refusal=Refusal.SERVER_ALONE, change={"spec": spec}, says=says)


def _named(rule: str, name: str, *says: str) -> Row:
    change = {"metadata": {"name": name}}
    return Row(
        rule=rule, refusal=Refusal.SERVER, change=change, says=("metadata.name", name, *says)
    )


def _operator(rule: str, spec: Json, *says: str) -> Row:
    return Row(rule=rule, refusal=Refusal.OPERATOR, change={"spec": spec}, says=says)


def _conf(name: str, value: str = "1") -> Json:
    return {"application": {"sparkConf": {name: value}}}


def _environment(*variables: Json) -> Json:
    return {"application": {"environment": list(variables)}}


def _kafka(**kafka: Any) -> Json:
    return {"sources": [{"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["a"], **kafka}}]}


def _claimless(**checkpoint: Any) -> Json:
    return {"checkpoint": {"claim": None, "path": None, **checkpoint}}


def _alternate(**alternate: Any) -> Json:
    return {"alternates": [{"name": "coarse", "value": 0.5, "overrides": {}, **alternate}]}


def _drills(**drills: Any) -> Json:
    return {"recovery": {"target": "2m", "drills": drills}}


def _blackout(**blackout: Any) -> Json:
    return {"scaling": {"blackouts": [{"start": "08:00", "end": "09:00", **blackout}]}}


def _event(**event: Any) -> Json:
    return {"scaling": {"calendar": [{"name": "sale", **event}]}}


_SIZES = (
    _server(
        "max is not less than min",
        {"executors": {"min": 5, "max": 2}},
        *("spec.executors.min", "5 is more than max: 2", "raise max or lower min"),
    ),
    _server(
        "initial is not more than max",
        {"executors": {"initial": 9}},
        *("spec.executors.initial", "9 is not between min: 1 and max: 4", "change one of them"),
    ),
    _server(
        "initial is not less than min",
        {"executors": {"min": 3, "initial": 2}},
        *("spec.executors.initial", "2 is not between min: 3 and max: 4", "change one of them"),
    ),
    _server(
        "a job has an executor",
        {"executors": {"min": 0}},
        *("spec.executors.min", "0", "greater than or equal to 1"),
    ),
    _server(
        "a number of executors is not negative",
        {"executors": {"min": -3}},
        *("spec.executors.min", "-3", "greater than or equal to 1"),
    ),
    _server(
        "executors have a limit",
        {"executors": {"max": 10001}},
        *("spec.executors.max", "10001", "less than or equal to 10000"),
    ),
    _server(
        "an executor has a core",
        {"executors": {"cores": 0}},
        *("spec.executors.cores", "0", "greater than or equal to 1"),
    ),
    _server(
        "an executor's heap is enough for Spark",
        {"executors": {"memory": "449Mi"}},
        *("spec.executors.memory", "449Mi", "at least 450Mi"),
    ),
    _server(
        "the driver's heap is enough for Spark",
        {"application": {"driver": {"memory": "256Mi"}}},
        *("spec.application.driver.memory", "256Mi", "at least 450Mi"),
    ),
    *(
        _server(
            f"memory is in binary units, not {written}",
            {"executors": {"memory": written}},
            *("spec.executors.memory", written, "binary units; write for example 512Mi or 2Gi"),
        )
        for written in ("600m", "1G", "1Gb", "1g", "1.5Gi", "0Gi", "-1Gi", "2 Gi", "2048")
    ),
    _server(
        "the driver's memory is in binary units",
        {"application": {"driver": {"memory": "1G"}}},
        *("spec.application.driver.memory", "1G", "write for example 512Mi or 2Gi"),
    ),
    _server(
        "overhead is in binary units",
        {"application": {"executor": {"memoryOverhead": "10%"}}},
        *("spec.application.executor.memoryOverhead", "10%", "write for example 512Mi or 2Gi"),
    ),
    *(
        _server(
            f"CPU is not {written}",
            {"application": {"driver": {"cpuRequest": written}}},
            *("spec.application.driver.cpuRequest", written, "write for example 500m, 1 or 1.5"),
        )
        for written in ("two", "-1", "500k", "0.5m", "1,5")
    ),
    _server(
        "a CPU limit is not below the request",
        {"application": {"executor": {"cpuRequest": "2", "cpuLimit": "1500m"}}},
        *("spec.application.executor.cpuLimit", "'1500m'", "cpuRequest '2'", "raise it or lower"),
    ),
    _server(
        "the driver's CPU limit is not below the request",
        {"application": {"driver": {"cpuRequest": "600m", "cpuLimit": "0.5"}}},
        *("spec.application.driver.cpuLimit", "'0.5'", "cpuRequest '600m'", "raise it or lower"),
    ),
)

_DURATIONS = (
    *(
        _server(
            f"{path} is longer than zero",
            {group: {name: "0s"}},
            *(path, "0s", "must be longer than zero, for example 30s"),
        )
        for path, group, name in (
            ("spec.slo.window", "slo", "window"),
            ("spec.recovery.target", "recovery", "target"),
            ("spec.restart.initialBackoff", "restart", "initialBackoff"),
            ("spec.restart.maximumBackoff", "restart", "maximumBackoff"),
            ("spec.restart.resetAfter", "restart", "resetAfter"),
        )
    ),
    _server(
        "decisions have time between them",
        {"scaling": {"interval": "0s"}},
        *("spec.scaling.interval", "'0s'", "must be 5s or longer"),
    ),
    *(
        _server_alone(
            f"decisions have more than {written} between them",
            {"scaling": {"interval": written}},
            *("spec.scaling.interval", f"'{written}'", "must be 5s or longer"),
        )
        for written in ("1ms", "4s999ms")
    ),
    _server(
        "a forecast goes ahead",
        {"scaling": {"horizon": "0m"}},
        *("spec.scaling.horizon", "'0m'", "must be 1m or longer"),
    ),
    *(
        _server_alone(
            f"a forecast does not go only {written} ahead",
            {"scaling": {"horizon": written}},
            *("spec.scaling.horizon", f"'{written}'", "must be 1m or longer"),
        )
        for written in ("30s", "59s999ms")
    ),
    *(
        _server(
            f"a duration is not {written!r}",
            {"restart": {"initialBackoff": written}},
            *("spec.restart.initialBackoff", written, "write for example 500ms, 90s, 5m or 1h30m"),
        )
        for written in ("-5s", "5", "5 s", "5sec", "1w", "PT5S", "1.5h", "9999999s")
    ),
    _server(
        "a deadline for stopping is a duration",
        {"application": {"driver": {"stopDeadline": "soon"}}},
        *("spec.application.driver.stopDeadline", "soon", "write for example 500ms"),
    ),
    _server(
        "a bound on the latency is longer than zero",
        {"slo": {"latency": {"bound": "0ms"}}},
        *("spec.slo.latency.bound", "0ms", "longer than zero"),
    ),
    _server(
        "an automatic profile takes time",
        {"profiling": {"budget": {"wallTime": "0s"}}},
        *("spec.profiling.budget.wallTime", "'0s'", "longer than zero"),
    ),
    _server(
        "the time of an automatic profile is a duration",
        {"profiling": {"budget": {"wallTime": "1 hour"}}},
        *("spec.profiling.budget.wallTime", "1 hour", "not a duration"),
    ),
    _server(
        "measurements are good for some time",
        {"profiling": {"maxAge": "0d"}},
        *("spec.profiling.maxAge", "'0d'", "longer than zero"),
    ),
    _server(
        "the age of measurements is a duration",
        {"profiling": {"maxAge": "a month"}},
        *("spec.profiling.maxAge", "a month", "not a duration"),
    ),
    _server(
        "a copy of an automatic profile takes time",
        {"profiling": {"copyDeadline": "0m"}},
        *("spec.profiling.copyDeadline", "'0m'", "longer than zero"),
    ),
)

_OBJECTIVES = (
    *(
        _server(
            f"a percentile is not {percentile}",
            {"slo": {"latency": {"percentile": percentile, "bound": "5s"}}},
            *("spec.slo.latency.percentile", str(percentile), told),
        )
        for percentile, told in ((95, "less than 1"), (1, "less than 1"), (0, "greater than 0"))
    ),
    _server(
        "an objective leaves an error budget",
        {"slo": {"objective": 1}},
        *("spec.slo.objective", "1", "less than 1"),
    ),
    _server(
        "an objective is not zero",
        {"slo": {"objective": 0}},
        *("spec.slo.objective", "0", "greater than 0"),
    ),
    _server(
        "a latency objective has a bound",
        {"slo": {"latency": {"percentile": 0.9}}},
        *("spec.slo.latency.bound", "equired"),
    ),
    _server(
        "a throughput is at least one record a second",
        {"slo": {"throughput": {"minimum": 0}}},
        *("spec.slo.throughput.minimum", "0", "greater than or equal to 1"),
    ),
    _server(
        "a bound on the freshness is longer than zero",
        {"slo": {"freshness": {"bound": "0s"}}},
        *("spec.slo.freshness.bound", "0s", "longer than zero"),
    ),
    _server(
        "a recovery has a target", {"recovery": {"target": None}}, "spec.recovery.target", "equired"
    ),
    _server(
        "a scaling mode is a known one",
        {"scaling": {"mode": "Automatic"}},
        *("spec.scaling.mode", "Automatic", "Approve", "Auto"),
    ),
    _server(
        "a scaling policy is a known one",
        {"scaling": {"policy": "keda"}},
        *("spec.scaling.policy", "keda", "keda-lag"),
    ),
    _server(
        "a blackout has a length",
        _blackout(end="08:00"),
        *("spec.scaling.blackouts[0].end", "08:00", "a window needs a length"),
    ),
    *(
        _server(
            f"a blackout does not start at {written}",
            _blackout(start=written),
            *("spec.scaling.blackouts[0].start", written, "write HH:MM, for example 08:30"),
        )
        for written in ("24:00", "8:00", "08:60", "noon")
    ),
    _server(
        "a blackout has an end",
        {"scaling": {"blackouts": [{"start": "08:00"}]}},
        *("spec.scaling.blackouts[0].end", "equired"),
    ),
    _server(
        "a blackout is on days of the week",
        _blackout(days=["Monday"]),
        *("spec.scaling.blackouts[0].days[0]", "Monday", "Mon"),
    ),
    _server(
        "a drill kills an executor or the driver",
        _drills(allowed=["Operator"]),
        *("spec.recovery.drills.allowed[0]", "Operator", "Executor", "Driver"),
    ),
    _server_alone(
        "a drill's victims are named once",
        _drills(allowed=["Driver", "Driver"]),
        *("spec.recovery.drills.allowed[1]", "Duplicate", "Driver"),
    ),
    _server(
        "a window for drills has a length",
        _drills(windows=[{"start": "08:00", "end": "08:00"}]),
        *("spec.recovery.drills.windows[0].end", "08:00", "a window needs a length"),
    ),
    _server(
        "a window for drills starts at a time of day",
        _drills(windows=[{"start": "8:00", "end": "09:00"}]),
        *("spec.recovery.drills.windows[0].start", "8:00", "write HH:MM, for example 08:30"),
    ),
    *(
        _operator(
            f"a window for drills is in no time zone {zone}",
            _drills(windows=[{"start": "08:00", "end": "09:00", "timeZone": zone}]),
            *("spec.recovery.drills.windows[0].timeZone", zone, "Europe/Berlin"),
        )
        for zone in ("Europe/Atlantis", "Europe")
    ),
    _operator(
        "a blackout is in a time zone, not in a part of the world",
        _blackout(timeZone="US"),
        *("spec.scaling.blackouts[0].timeZone", "US", "Europe/Berlin"),
    ),
    _operator(
        "an event comes again in a time zone that there is",
        _event(
            start="2026-03-20T20:00:00Z", duration="1h", every="24h", timeZone="Europe/Atlantis"
        ),
        *("spec.scaling.calendar[0].timeZone", "Europe/Atlantis", "Europe/Berlin"),
    ),
    _operator(
        "an event ends before time does",
        _event(start="9999-12-31T23:00:00Z", duration="24h"),
        *("spec.scaling.calendar[0].start", "9999-12-31T23:00:00Z", "out of range"),
    ),
    _server(
        "an alternate is worth something",
        _alternate(value=0),
        *("spec.alternates[0].value", "0", "greater than 0"),
    ),
    _server(
        "an alternate is worth no more than the whole",
        _alternate(value=1.5),
        *("spec.alternates[0].value", "1.5", "less than or equal to 1"),
    ),
    _server(
        "an alternate has a plain name",
        _alternate(name="Coarse windows"),
        *("spec.alternates[0].name", "Coarse windows", "small letters, digits and dashes"),
    ),
    _server(
        "utility is more than nothing",
        {"utility": {"maximum": 0}},
        *("spec.utility.maximum", "0", "greater than 0"),
    ),
    _server(
        "an automatic profile may cost something",
        {"profiling": {"budget": {"coreHours": 0}}},
        *("spec.profiling.budget.coreHours", "0", "greater than 0"),
    ),
    _server(
        "profiles may have some share",
        {"profiling": {"maxShare": 0}},
        *("spec.profiling.maxShare", "0", "greater than 0"),
    ),
    _server(
        "profiles do not take more than the job",
        {"profiling": {"maxShare": 5}},
        *("spec.profiling.maxShare", "5", "less than or equal to 1"),
    ),
    _server(
        "a copy that is made by itself has an executor",
        {"profiling": {"executors": [1, 0]}},
        *("spec.profiling.executors[1]", "0", "greater than or equal to 1"),
    ),
    _server(
        "a number of executors is measured once by itself",
        {"profiling": {"executors": [2, 4, 2]}},
        *("spec.profiling.executors", "names the same twice; remove one"),
    ),
    _server(
        "an automatic profile runs a copy at a time",
        {"profiling": {"parallel": 0}},
        *("spec.profiling.parallel", "0", "greater than or equal to 1"),
    ),
    _server(
        "a namespace for copies has the name of one",
        {"profiling": {"namespaces": ["Lab_1"]}},
        *("spec.profiling.namespaces[0]", "Lab_1", "use small letters, digits and dashes"),
    ),
    _server(
        "a namespace for copies is used once",
        {"profiling": {"namespaces": ["lab", "lab"]}},
        *("spec.profiling.namespaces", "names the same twice; remove one"),
    ),
    _server(
        "the claim of a copy has an amount",
        {"profiling": {"storage": {"size": "1G"}}},
        *("spec.profiling.storage.size", "1G", "not an amount of memory"),
    ),
    _server(
        "a back-off does not shrink",
        {"restart": {"factor": 0.5}},
        *("spec.restart.factor", "0.5", "greater than or equal to 1"),
    ),
    _server(
        "a number of failures is not negative",
        {"restart": {"maximumFailures": -1}},
        *("spec.restart.maximumFailures", "-1", "greater than or equal to 0"),
    ),
)

_PLACES = (
    _server(
        "a job has a checkpoint",
        {"checkpoint": None},
        *("spec.checkpoint", "equired"),
    ),
    _server(
        "a checkpoint has a place",
        _claimless(),
        *("spec.checkpoint.claim", "missing, and so is uri", "give one of the two"),
    ),
    _server(
        "a checkpoint has one place only",
        {"checkpoint": {"path": None, "uri": "s3a://bucket/clicks"}},
        *("spec.checkpoint.uri", "'s3a://bucket/clicks'", "claim: 'checkpoints'", "remove one"),
    ),
    _server(
        "a path belongs to a claim",
        _claimless(uri="s3a://bucket", path="clicks"),
        *("spec.checkpoint.path", "'clicks'", "make it a part of uri"),
    ),
    *(
        _server(
            f"a checkpoint's path is not {path}",
            {"checkpoint": {"path": path}},
            *("spec.checkpoint.path", path, "must not contain . or .. as a part"),
        )
        for path in ("../other", "a/../b", "a/./b", "..")
    ),
    _server(
        "a checkpoint's path has no spaces",
        {"checkpoint": {"path": "my clicks"}},
        *("spec.checkpoint.path", "my clicks", "use letters, digits"),
    ),
    _server(
        "a checkpoint's URI has no parts that lead out",
        _claimless(uri="s3a://bucket/a/../b"),
        *("spec.checkpoint.uri", "s3a://bucket/a/../b", "must not contain . or .. as a part"),
    ),
    *(
        _server(
            f"one checkpoint has one name, not {uri}",
            _claimless(uri=uri),
            *("spec.checkpoint.uri", uri, "must not contain // within its path; write one /"),
        )
        for uri in ("s3a://bucket//a", "hdfs://names:8020/a///b/")
    ),
    *(
        _server(
            f"a checkpoint is not at {uri}",
            _claimless(uri=uri),
            *("spec.checkpoint.uri", uri, "write for example s3a://bucket/directory", "abfss"),
        )
        for uri in (
            *("s3://bucket/a", "http://host/a", "/checkpoint/a"),
            *("s3a://", "s3a:///", "gs:///bucket", "file:///", "hdfs://"),
        )
    ),
    _server(
        "a claim has a name that Kubernetes takes",
        {"checkpoint": {"claim": "My_Claim"}},
        *("spec.checkpoint.claim", "My_Claim", "small letters, digits, dots and dashes"),
    ),
    _server(
        "a source has servers",
        _kafka(bootstrapServers=[]),
        *("spec.sources[0].kafka.bootstrapServers", "at least 1 item"),
    ),
    *(
        _server(
            f"a server is not {server}",
            _kafka(bootstrapServers=["kafka:9092", server]),
            *("spec.sources[0].kafka.bootstrapServers[1]", server, "write host:port"),
        )
        for server in ("kafka", "kafka:port", "kafka:9092,kafka2:9092", "kafka 1:9092")
    ),
    _server(
        "a source has topics",
        _kafka(topics=[]),
        *("spec.sources[0].kafka.topics", "at least 1 item"),
    ),
    *(
        _server(
            f"a topic is not {topic!r}",
            _kafka(topics=[topic]),
            *("spec.sources[0].kafka.topics[0]", topic, "use letters, digits, dot, _ and - only"),
        )
        for topic in ("clicks/eu", "clicks eu", "", "clicks,views")
    ),
    _server("a source names Kafka", {"sources": [{}]}, "spec.sources[0].kafka", "equired"),
)

_APPLICATION = (
    _server("a job is a program", {"application": None}, "spec.application", "equired"),
    _server(
        "a program has an image",
        {"application": {"image": None}},
        *("spec.application.image", "equired"),
    ),
    *(
        _server(
            f"an image is not {image!r}",
            {"application": {"image": image}},
            *("spec.application.image", image, "write one without spaces"),
        )
        for image in ("", "shop/clicks: 1")
    ),
    _server(
        "a service account has a name of Kubernetes",
        {"application": {"serviceAccount": "Lake_Reader"}},
        *("spec.application.serviceAccount", "Lake_Reader", "not the name of a service account"),
    ),
    _server(
        "a program has a file",
        {"application": {"mainFile": None}},
        *("spec.application.mainFile", "equired"),
    ),
    *(
        _server(
            f"a program is not at {place!r}",
            {"application": {"mainFile": place}},
            *("spec.application.mainFile", place, "write an absolute path"),
        )
        for place in (
            "clicks.py",
            "./clicks.py",
            "local:///opt/clicks.py",
            "/opt/my clicks.py",
            "/",
        )
    ),
    _server(
        "a directory of modules is absolute",
        {"application": {"pythonPath": ["lib"]}},
        *("spec.application.pythonPath[0]", "lib", "write an absolute path"),
    ),
    _server(
        "an image is pulled by a known policy",
        {"application": {"imagePullPolicy": "Sometimes"}},
        *("spec.application.imagePullPolicy", "Sometimes", "IfNotPresent"),
    ),
    *(
        _server(
            f"{owned}{'*' if owned.endswith('.') else ''} is the operator's",
            _conf(f"{owned}enabled" if owned.endswith(".") else owned),
            *("spec.application.sparkConf", owned, "is decided by the operator", remedy),
        )
        for owned, remedy in OWNED_SETTINGS.items()
    ),
    _operator(
        "a task takes whole cores",
        _conf("spark.task.cpus", "half"),
        *("spec.application.sparkConf[spark.task.cpus]", "half", "a whole number, 1 or more"),
    ),
    _operator(
        "an executor has room for a task",
        _conf("spark.task.cpus", "2"),
        *("spec.application.sparkConf[spark.task.cpus]", "2", "raise spec.executors.cores"),
    ),
    *(
        _server(
            f"{name} is the operator's variable",
            _environment({"name": name, "value": "1"}),
            *("spec.application.environment[0].name", name, "choose another name"),
        )
        for name in ("SLUICE_EXECUTORS", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")
    ),
    *(
        _server(
            f"a variable is not called {name!r}",
            _environment({"name": name}),
            *("spec.application.environment[0].name", name, "use letters, digits and _"),
        )
        for name in ("MY-NAME", "1ST", "A B", "")
    ),
    _server(
        "a variable has one source",
        _environment({"name": "A", "value": "1", "valueFrom": {"fieldRef": {}}}),
        *("spec.application.environment[0].valueFrom", "value of 'A'", "remove one of the two"),
    ),
    _server_alone(
        "a variable is there once",
        _environment({"name": "A", "value": "1"}, {"name": "A", "value": "2"}),
        *("spec.application.environment[1]", "Duplicate value", '"A"'),
    ),
    *(
        _operator(
            f"a variable does not come {told}",
            _environment({"name": "A", "valueFrom": source}),
            *("spec.application.environment[0].valueFrom", "'A'", "secretKeyRef"),
        )
        for told, source in (
            ("from nowhere", {}),
            ("from a Secret as a whole", {"secretRef": {"name": "b"}}),
        )
    ),
)

_FORMS = (
    _server(
        "a number is not a text",
        {"executors": {"min": "three"}},
        *("spec.executors.min", "integer"),
    ),
    _server(
        "a number of executors is whole",
        {"executors": {"max": 2.5}},
        *("spec.executors.max", "integer"),
    ),
    _server(
        "arguments are a list",
        {"application": {"arguments": "--fast"}},
        "spec.application.arguments",
    ),
    _server(
        "arguments are texts",
        {"application": {"arguments": ["--rate", 5]}},
        *("spec.application.arguments[1]", "string"),
    ),
    _server(
        "settings are texts",
        {"application": {"sparkConf": {"spark.task.cpus": 2}}},
        *("spec.application.sparkConf.spark.task.cpus", "string"),
    ),
    _server("suspend is true or false", {"suspend": "maybe"}, "spec.suspend", "boolean"),
    _server(
        "a job has so many arguments at most",
        {"application": {"arguments": ["a"] * 257}},
        *("spec.application.arguments", "257", "at most 256 items"),
    ),
    _server(
        "a duration is not endless",
        {"restart": {"initialBackoff": "1s" * 11}},
        *("spec.restart.initialBackoff", "20"),
    ),
    _server_alone(
        "a field of the spec is known",
        {"executers": {"min": 1}},
        *("unknown field", "spec.executers"),
    ),
    _server_alone(
        "a field of a group is known",
        {"executors": {"maximum": 5}},
        *("unknown field", "spec.executors.maximum"),
    ),
    _server_alone(
        "a field in a list is known",
        _kafka(topic="a"),
        *("unknown field", "spec.sources[0].kafka.topic"),
    ),
    _named("a name leaves room for those of its pods", "a" * 41, "leave room for 40 characters"),
    _named("a name has no dot", "clicks.eu", "use a dash"),
)


def _template(pod: str, template: Json) -> Json:
    return {"application": {pod: {"template": template}}}


def _pod(rule: str, spec: Json, *says: str, pod: str = "driver") -> Row:
    """A template whose spec is wrong; the first text is the path below that spec."""
    where = f"spec.application.{pod}.template.spec.{says[0]}"
    return _operator(rule, _template(pod, {"spec": spec}), where, *says[1:])


def _ours(rule: str, container: Json, *says: str) -> Row:
    """Our own container, asked for something wrong."""
    told = (f"containers[0].{says[0]}", *says[1:])
    return _pod(rule, {"containers": [{"name": "driver", **container}]}, *told)


_RESTRICTED = "pods run restricted; remove it"

_TEMPLATES = (
    *(
        _pod(f"a pod does not share {flag}", {flag: True}, flag, "True", _RESTRICTED)
        for flag in ("hostNetwork", "hostPID", "hostIPC")
    ),
    _pod(
        "a volume is not of the host",
        {"volumes": [{"name": "logs", "hostPath": {"path": "/var/log"}}]},
        *("volumes[0].hostPath", "logs", "use one of", "emptyDir"),
    ),
    _pod(
        "an executor's volume is not of the host",
        {"volumes": [{"name": "logs", "hostPath": {"path": "/var/log"}}]},
        *("volumes[0].hostPath", "logs", "use one of", "emptyDir"),
        pod="executor",
    ),
    _pod(
        "a volume does not take the name of ours",
        {"volumes": [{"name": "conf", "emptyDir": {}}]},
        *("volumes[0].name", "conf", "choose another name"),
    ),
    _pod(
        "a volume is not of the checkpoint's claim",
        {"volumes": [{"name": "lake", "persistentVolumeClaim": {"claimName": "checkpoints"}}]},
        *("volumes[0].persistentVolumeClaim.claimName", "'checkpoints'"),
        *("never starts", "as the volume 'checkpoint': mount that one"),
    ),
    _pod(
        "two volumes are not of one claim",
        {
            "volumes": [
                {"name": "lake", "persistentVolumeClaim": {"claimName": "lake"}},
                {"name": "other", "persistentVolumeClaim": {"claimName": "others"}},
                {"name": "ice", "persistentVolumeClaim": {"claimName": "lake"}},
            ]
        },
        *("volumes[2].persistentVolumeClaim.claimName", "'lake'", "as the volume 'lake': mount"),
        pod="executor",
    ),
    _ours(
        "nothing is mounted over the checkpoint",
        {"volumeMounts": [{"name": "tmp", "mountPath": "/checkpoint/"}]},
        *("volumeMounts[0].mountPath", "'/checkpoint/'", "choose another directory"),
    ),
    _pod(
        "a volume's name is a text",
        {"volumes": [{"name": ["logs"], "emptyDir": {}}]},
        *("volumes[0].name", "must be a text or a number"),
    ),
    _pod(
        "the name of a variable is a text",
        {"containers": [{"name": "driver", "env": [{"name": {"a": "b"}, "value": "1"}]}]},
        *("containers[0].env[0].name", "must be a text or a number"),
    ),
    _pod(
        "a pod is not root",
        {"securityContext": {"runAsUser": 0}},
        *("securityContext.runAsUser", "0", "name another user"),
    ),
    _pod(
        "a pod may not be root",
        {"securityContext": {"runAsNonRoot": False}},
        *("securityContext.runAsNonRoot", "False", "never run as root"),
    ),
    _pod(
        "a pod's system calls are confined",
        {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
        *("securityContext.seccompProfile.type", "Unconfined", "use RuntimeDefault"),
    ),
    _pod(
        "a pod's AppArmor profile is not Unconfined",
        {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
        *("securityContext.appArmorProfile.type", "Unconfined", "use RuntimeDefault"),
    ),
    _ours(
        "a container is not privileged",
        {"securityContext": {"privileged": True}},
        *("securityContext.privileged", "True", _RESTRICTED),
    ),
    _ours(
        "a container does not escalate",
        {"securityContext": {"allowPrivilegeEscalation": True}},
        *("securityContext.allowPrivilegeEscalation", "True", _RESTRICTED),
    ),
    _ours(
        "a container has no capabilities",
        {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}},
        *("securityContext.capabilities.add", "SYS_ADMIN", "remove it"),
    ),
    _ours(
        "a container's /proc is masked",
        {"securityContext": {"procMount": "Unmasked"}},
        *("securityContext.procMount", "Unmasked", _RESTRICTED),
    ),
    _ours(
        "a container has no port of the host",
        {"ports": [{"containerPort": 80, "hostPort": 80}]},
        *("ports[0].hostPort", "80", _RESTRICTED),
    ),
    _ours(
        "our image is a field", {"image": "other:1"}, "image", "other:1", "spec.application.image"
    ),
    _ours("our program is a field", {"command": ["sh"]}, "command", "spec.application.mainFile"),
    _ours("our arguments are a field", {"args": ["a"]}, "args", "use spec.application.arguments"),
    _ours(
        "our resources are fields",
        {"resources": {"limits": {"memory": "1Gi"}}},
        *("resources", "use memory, cpuRequest and cpuLimit"),
    ),
    _ours(
        "our variables stay as they are",
        {"env": [{"name": "SLUICE_EXECUTORS", "value": "9"}]},
        *("env[0].name", "SLUICE_EXECUTORS", "remove it"),
    ),
    _pod(
        "a container has a name",
        {"containers": [{"image": "sidecar:1"}]},
        *("containers[0].name", "name the container", "'driver'"),
    ),
    _pod(
        "a container that is not the program's has an image",
        {"containers": [{"name": "spark-kubernetes-driver", "env": []}]},
        *("containers[0].image", "'spark-kubernetes-driver'", "call it 'driver'"),
    ),
    _pod(
        "an init container is not privileged",
        {"initContainers": [{"name": "a", "image": "a", "securityContext": {"privileged": True}}]},
        *("initContainers[0].securityContext.privileged", "True", _RESTRICTED),
        pod="executor",
    ),
    *(
        _pod(f"{field} is the operator's", {field: value}, field, str(value), remedy)
        for field, value, remedy in (
            ("serviceAccountName", "admin", "use spec.application.serviceAccount"),
            ("restartPolicy", "Always", "the operator restarts drivers itself; remove it"),
            ("nodeName", "node-1", "use nodeSelector or affinity"),
            ("hostname", "clicks", "remove it"),
            ("automountServiceAccountToken", False, "remove it"),
            ("terminationGracePeriodSeconds", 5, "use spec.application.driver.stopDeadline"),
        )
    ),
    _pod("containers are a list", {"containers": {"name": "a"}}, "containers", "must be a list"),
    _pod("volumes are objects", {"volumes": ["a"]}, "volumes[0]", "'a'", "must be an object"),
    _ours("variables are a list", {"env": {"A": "1"}}, "env", "must be a list"),
    _operator(
        "a template has nothing but metadata and spec",
        _template("executor", {"containers": []}),
        *("spec.application.executor.template.containers", "metadata and spec only"),
    ),
    _operator(
        "a template's spec is an object",
        _template("executor", {"spec": "none"}),
        *("spec.application.executor.template.spec", "'none'", "must be an object"),
    ),
    _operator(
        "labels are an object",
        _template("driver", {"metadata": {"labels": ["team=web"]}}),
        *("spec.application.driver.template.metadata.labels", "must be an object"),
    ),
    _pod(
        "a security context is an object",
        {"securityContext": "none"},
        *("securityContext", "'none'", "must be an object"),
    ),
    _operator(
        "a pod's name is the operator's",
        _template("driver", {"metadata": {"name": "mine"}}),
        *(
            "spec.application.driver.template.metadata.name",
            "'mine'",
            "only labels and annotations",
        ),
    ),
    _operator(
        "our labels are the operator's",
        _template("driver", {"metadata": {"labels": {"sluice.dev/job": "other"}}}),
        *("spec.application.driver.template.metadata.labels", "'sluice.dev/job'", "remove it"),
    ),
)

ROWS: tuple[Row, ...] = (
    *_SIZES,
    *_DURATIONS,
    *_OBJECTIVES,
    *_PLACES,
    *_APPLICATION,
    *_FORMS,
    *_TEMPLATES,
)


def _profile(rule: str, spec: Json, *says: str) -> Row:
    return Row(
        rule=rule, refusal=Refusal.SERVER, change={"spec": spec}, says=says, base=GOOD_PROFILE
    )


PROFILE_ROWS: tuple[Row, ...] = (
    _profile("a profile has a job", {"job": None}, "spec.job", "equired"),
    _profile(
        "a profile's job has the name of one",
        {"job": "Clicks!"},
        *("spec.job", "Clicks!", "use small letters, digits and dashes"),
    ),
    _profile(
        "a copy has an executor", {"executors": [1, 0]}, "spec.executors[1]", "0", "or equal to 1"
    ),
    _profile(
        "a number of executors is measured once",
        {"executors": [2, 4, 2]},
        *("spec.executors", "names the same twice; remove one"),
    ),
    _profile(
        "executors are numbers", {"executors": ["two"]}, "spec.executors[0]", "string", "integer"
    ),
    _profile(
        "a profile may cost something",
        {"budget": {"coreHours": 0}},
        *("spec.budget.coreHours", "0", "greater than 0"),
    ),
    _profile(
        "a profile may take some time",
        {"budget": {"wallTime": "0s"}},
        *("spec.budget.wallTime", "'0s'", "longer than zero"),
    ),
    _profile(
        "the time of a profile is a duration",
        {"budget": {"wallTime": "1 hour"}},
        *("spec.budget.wallTime", "1 hour", "not a duration"),
    ),
    _profile(
        "a copy may take some time",
        {"copyDeadline": "0m"},
        *("spec.copyDeadline", "'0m'", "longer than zero"),
    ),
    _profile("a copy at a time runs", {"parallel": 0}, "spec.parallel", "0", "or equal to 1"),
    _profile("not all copies run at once", {"parallel": 17}, "spec.parallel", "17", "equal to 16"),
    _profile(
        "a namespace has the name of one",
        {"namespaces": ["Lab_1"]},
        *("spec.namespaces[0]", "Lab_1", "use small letters, digits and dashes"),
    ),
    _profile(
        "a namespace is used once",
        {"namespaces": ["lab", "lab"]},
        *("spec.namespaces", "names the same twice; remove one"),
    ),
    _profile(
        "copies read from one end", {"from": "Middle"}, "spec.from", "Middle", "Earliest", "Latest"
    ),
    _profile("copies write to no sink", {"sink": "Keep"}, "spec.sink", "Keep", "Drop"),
    _profile(
        "a claim's size is an amount",
        {"storage": {"size": "1G"}},
        *("spec.storage.size", "1G", "not an amount of memory"),
    ),
    _profile(
        "a claim can be shared by pods",
        {"storage": {"accessMode": "ReadOnlyMany"}},
        *("spec.storage.accessMode", "ReadOnlyMany", "ReadWriteMany"),
    ),
)
