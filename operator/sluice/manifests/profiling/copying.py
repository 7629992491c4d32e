"""The copy of a job as a StreamJob of its own, and what of the job cannot be copied.

It is the job's application on N executors with another checkpoint, without promises and without scaling. Its own
environment says that it is a copy (SLUICE_PROFILE), by which its agent drops what it would write.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice.core.application import CHECKPOINT_MOUNT, StreamJob
from sluice.core.ownedconf import PROFILE_VARIABLE
from sluice.core.profiling.records import Copy, Problem, Profile, Reason
from sluice.manifests.names import JOB_LABEL
from sluice.manifests.overlay import overlay
from sluice.manifests.profiling.brokers import seen_from_elsewhere
from sluice.manifests.profiling.guards import Surroundings, claim_name
from sluice.manifests.profiling.labelling import metadata

Json = dict[str, Any]

_DIRECTORY = "profile"

_LEFT_OUT = ("slo", "recovery", "alternates", "profiling", "utility")
"""Parts of a job's spec that are promises to its owner, or about other jobs."""

_RESTART = {"initialBackoff": "5s", "maximumFailures": 2, "rollbackAfter": "0s"}

_PRIORITY = ("priorityClassName", "priority", "preemptionPolicy")

_CONFIG_MAPS = frozenset(("configMap", "configMapRef", "configMapKeyRef"))
_SECRETS = frozenset(
    ("secret", "secretRef", "secretKeyRef", "nodePublishSecretRef", "imagePullSecrets")
)
_SECRET_SETTINGS = ("spark.kubernetes.executor.secretKeyRef.", "spark.kubernetes.executor.secrets.")
_CLAIM_SETTING = re.compile(
    r"spark\.kubernetes\.executor\.volumes\.persistentVolumeClaim\..+\.options\.claimName"
)


def copy_job(
    profile: Profile, copy: Copy, job: StreamJob, around: Surroundings, *, most_rows: int | None
) -> Json:
    """The StreamJob of a copy, whose first batches have so many rows at most; None is what its program has set."""
    declared: Any = job.document
    kept = {name: part for name, part in declared.items() if name not in _LEFT_OUT}
    size = dict.fromkeys(("min", "max", "initial"), copy.executors)
    spec = {
        **kept,
        "application": _application(
            declared["application"], job, around, _orders(profile, copy, most_rows)
        ),
        "executors": {**declared["executors"], **size},
        "checkpoint": {"claim": claim_name(job, copy), "path": _DIRECTORY},
        "sources": [_source(source, job) for source in declared.get("sources", ())],
        "scaling": {"mode": "Off"},
        "restart": _RESTART,
        "suspend": False,
    }
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": metadata(profile, job.key.name, copy.namespace),
        "spec": spec,
    }


def _application(declared: Json, job: StreamJob, around: Surroundings, orders: str) -> Json:
    variable = {"name": PROFILE_VARIABLE, "value": orders}
    # Arguments, and brokers that name themselves, may use the short names that are good beside the job.
    searches = [f"{job.key.namespace}.svc.{around.domain}"]
    patch = {"spec": {"dnsConfig": {"searches": searches}, "affinity": _away_from(job)}}
    pods = {
        pod: {**declared[pod], "template": _template(declared[pod].get("template") or {}, patch)}
        for pod in ("driver", "executor")
    }
    # What its account lets the job do, a copy may not.
    kept = {name: part for name, part in declared.items() if name != "serviceAccount"}
    return {**kept, **pods, "environment": [*declared.get("environment", ()), variable]}


def _template(declared: Json, patch: Json) -> Json:
    """The job's template without its priority, by which a copy would take the room of others' pods."""
    template = overlay(declared, patch)
    spec = {name: part for name, part in template["spec"].items() if name not in _PRIORITY}
    return {**template, "spec": spec}


def _away_from(job: StreamJob) -> Json:
    """Other nodes than the job's if there are any, for a copy takes all the CPU that it can get."""
    pods = {
        "namespaces": [job.key.namespace],
        "labelSelector": {"matchLabels": {JOB_LABEL: job.key.name}},
        "topologyKey": "kubernetes.io/hostname",
    }
    preferred = [{"weight": 100, "podAffinityTerm": pods}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _orders(profile: Profile, copy: Copy, most_rows: int | None) -> str:
    """What the copy's agent is to do, as it reads it from SLUICE_PROFILE."""
    orders = {
        "sinks": "drop",
        "checkpoint": f"file://{CHECKPOINT_MOUNT}/{_DIRECTORY}",
        "startingOffsets": profile.start.lower(),
        "groupPrefix": f"sluice-profile-{profile.uid[:8]}-x{copy.executors}",
        "mostRows": most_rows,
    }
    return json.dumps(orders, separators=(",", ":"))


def _source(source: Json, job: StreamJob) -> Json:
    kafka = source["kafka"]
    servers = [seen_from_elsewhere(one, job.key.namespace) for one in kafka["bootstrapServers"]]
    return {**source, "kafka": {**kafka, "bootstrapServers": servers}}


def config_maps(job: StreamJob) -> tuple[str, ...]:
    """The names of the ConfigMaps that a copy needs beside it."""
    return tuple(dict.fromkeys(_referred(job.document.get("application"), _CONFIG_MAPS)))


def config_map(profile: Profile, copy: Copy, original: Mapping[str, Any]) -> Json:
    """The copy of a ConfigMap."""
    data = {part: original[part] for part in ("data", "binaryData") if original.get(part)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(profile, original["metadata"]["name"], copy.namespace),
        **data,
    }


def obstacle(job: StreamJob, namespaces: Sequence[str]) -> Problem | None:
    """Why this job cannot be copied, into these namespaces or into one that is made for it."""
    if not job.sources:
        told = (
            f"StreamJob {job.key.name!r} declares no Kafka source, and copies read nothing else; declare it in "
            "spec.sources"
        )
        return Problem(Reason.NOT_REPLAYABLE, told)
    needed = tuple(dict.fromkeys(_private(job)))
    if needed and not namespaces:
        told = (
            f"StreamJob {job.key.name!r} uses {', '.join(needed[:4])}, which the operator may not copy; create it in a "
            "namespace of its own and list that in spec.namespaces"
        )
        return Problem(Reason.NEEDS_SECRET, told)
    return None


def _private(job: StreamJob) -> Iterator[str]:
    application = job.document.get("application")
    for name in (*job.application.image_pull_secrets, *_referred(application, _SECRETS)):
        yield f"the Secret {name}"
    for setting, value in job.application.spark_conf.items():
        for prefix in _SECRET_SETTINGS:
            if setting.startswith(prefix):
                is_key = prefix.endswith("Ref.")
                yield f"the Secret {value.partition(':')[0] if is_key else setting[len(prefix) :]}"
        if _CLAIM_SETTING.fullmatch(setting):
            yield f"the claim {value}"
    for name in _referred(application, frozenset(("persistentVolumeClaim",))):
        yield f"the claim {name}"


def _referred(node: object, kinds: frozenset[str]) -> Iterator[str]:
    """The names of objects that a part of a spec refers to by one of these fields, unless they may be missing."""
    if isinstance(node, list):
        for part in node:
            yield from _referred(part, kinds)
    if not isinstance(node, Mapping):
        return
    for name, part in node.items():
        if name in kinds and isinstance(part, list):
            yield from _referred([{name: one} for one in part], kinds)
        elif name in kinds and isinstance(part, Mapping):
            found = part.get("name") or part.get("secretName") or part.get("claimName")
            if isinstance(found, str) and not part.get("optional"):
                yield found
        else:
            yield from _referred(part, kinds)
