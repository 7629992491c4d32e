"""What people change of a job by a command, if it makes sense now: each returns the sentence that they are told.

The operator sees the change like any other; nothing is done to pods from here.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sluice.console import finding
from sluice.console.cluster import Cluster, path_of
from sluice.console.job import Job
from sluice.console.trouble import NotNow, WrongUse
from sluice.core.asking import APPROVE, PAUSED, RESTART
from sluice.ports import STREAM_JOBS

CHOOSING = frozenset({"Auto", "Approve"})
"""The modes in which the operator chooses the number of executors."""


def approve(cluster: Cluster, namespace: str, name: str, id: str | None) -> str:
    """Let what waits for an approval be done. Raises NotNow if nothing waits, or another decision than `id`."""
    job = Job(finding.job(cluster, namespace, name))
    decision = job.part("decision")
    pending = decision.get("pending")
    if pending is None:
        raise NotNow(f"nothing of {namespace}/{name} waits for an approval", _why_nothing(job))
    if id is not None and id != pending:
        told = f"the decision {id} of {namespace}/{name} does not wait; {pending} does"
        raise NotNow(told, f"It wants {decision.get('wanted')} executors: {decision.get('reason')}")
    _annotate(cluster, job, APPROVE, pending)
    return f"{namespace}/{name}: decision {pending} is approved, {decision.get('wanted')} executors"


def pause(cluster: Cluster, namespace: str, name: str) -> str:
    """Let the operator leave a job alone."""
    job = Job(finding.job(cluster, namespace, name))
    _annotate(cluster, job, PAUSED, "true")
    return (
        f"{namespace}/{name}: paused; the operator looks on, but starts, stops and rescales nothing"
    )


def resume(cluster: Cluster, namespace: str, name: str) -> str:
    """Let the operator act on a job again."""
    job = Job(finding.job(cluster, namespace, name))
    if PAUSED not in job.annotations:
        return f"{namespace}/{name}: was not paused"
    _annotate(cluster, job, PAUSED, None)
    return f"{namespace}/{name}: resumed; the operator acts on it again"


def restart(cluster: Cluster, namespace: str, name: str, now: datetime) -> str:
    """Ask for another driver. Raises NotNow if none is to run, or will be started."""
    job = Job(finding.job(cluster, namespace, name))
    if job.is_suspended:
        told = f"{namespace}/{name} is suspended: nothing runs that could be restarted"
        raise NotNow(told, f"Start it: {_patching(job, suspend=False)}")
    if job.part("failures").get("gaveUp") and not job.unseen_change:
        told = f"{namespace}/{name} was given up: nothing runs that could be restarted"
        again = f"Change its spec, or suspend and resume it: {_patching(job, suspend=True)}"
        raise NotNow(told, again)
    _annotate(cluster, job, RESTART, now.isoformat(timespec="milliseconds"))
    later = "; it is paused, and restarts when it is resumed" if _is_paused(job) else ""
    return f"{namespace}/{name}: a restart is asked for; the next driver goes on from the last batch{later}"


def rescale(cluster: Cluster, namespace: str, name: str, executors: int) -> str:
    """Ask for a number of executors. Raises WrongUse beyond the bounds, NotNow where it would have no effect."""
    job = Job(finding.job(cluster, namespace, name))
    _require_own_choice(job)
    _require_bounds(job, executors)
    path = path_of(STREAM_JOBS, namespace, name, "scale")
    cluster.patch(path, {"spec": {"replicas": executors}})
    later = "; it is paused, and takes them when it is resumed" if _is_paused(job) else ""
    return f"{namespace}/{name}: {executors} executors are asked for{later}"


def _require_own_choice(job: Job) -> None:
    where = f"{job.namespace}/{job.name}"
    if job.is_suspended:
        told = f"{where} is suspended: nothing runs that could be rescaled"
        raise NotNow(told, f"Start it first: {_patching(job, suspend=False)}")
    if job.mode in CHOOSING:
        told = f"spec.scaling.mode of {where} is {job.mode}: the operator chooses the executors"
        own = _patching(job, scaling={"mode": "Off"})
        raise NotNow(told, f"Change spec.executors.min and max, or choose yourself: {own}")


def _require_bounds(job: Job, executors: int) -> None:
    bounds: Mapping[str, Any] = job.spec.get("executors") or {}
    least, most = bounds.get("min", 1), bounds.get("max", executors)
    if least <= executors <= most:
        return
    told = f"{executors} executors are beyond the bounds of {job.namespace}/{job.name}: {least} to {most}"
    raise WrongUse(told, "Choose a number within, or change spec.executors.min and max")


def _why_nothing(job: Job) -> str:
    if job.mode != "Approve":
        return f"spec.scaling.mode is {job.mode}: only decisions in mode Approve wait"
    return f"`sluice status {job.name}` shows the newest decision, `sluice history {job.name}` the last"


def _is_paused(job: Job) -> bool:
    return job.annotations.get(PAUSED) == "true"


def _patching(job: Job, **spec: Any) -> str:
    patch = json.dumps({"spec": spec})
    return f"kubectl patch sj {job.name} -n {job.namespace} --type=merge -p '{patch}'"


def _annotate(cluster: Cluster, job: Job, annotation: str, value: str | None) -> None:
    path = path_of(STREAM_JOBS, job.namespace, job.name)
    cluster.patch(path, {"metadata": {"annotations": {annotation: value}}})
