"""Bring up the demo, step by step. Every step is safe to repeat, and takes no time when nothing is to do."""

import json
from collections.abc import Mapping
from typing import Any

from demo import cluster
from demo.names import (
    COPY_NAMESPACES,
    JOB,
    LOAD,
    MANIFESTS,
    NAMESPACE,
    OPERATOR_NAMESPACE,
    RELEASE,
    ROOT,
    SAMPLE,
)
from demo.waiting import Sight, wait_for
from e2e.images.manifests import manifest, rules
from e2e.images.progress import Progress
from e2e.images.recipes import RECIPES

SERVICES_SECONDS = 180.0
READY_SECONDS = 420.0
"""A first start on two busy processors has taken a minute; executors that fail and come again take longer."""

LOOK_AGAIN = "the lines above say what it waits for; `make demo` goes on from here"


def raise_demo(progress: Progress, *, afresh: bool) -> None:
    """Install everything, and return when the job is Ready; with a load that begins now if it is to be afresh."""
    install_operator(progress)
    _start_services(progress)
    _start_load(progress, afresh=afresh)
    _start_job(progress)


def install_operator(progress: Progress) -> None:
    """Install the operator of this checkout, or bring the one that is there up to it."""
    progress.say(f"operator: Helm release {RELEASE} in {OPERATOR_NAMESPACE}, for {NAMESPACE} only")
    watched = ",".join((NAMESPACE, *COPY_NAMESPACES))
    cluster.kubectl("apply", "-f", str(MANIFESTS / "namespaces.yaml"))
    if RELEASE in cluster.helm("list", "--pending", "--short", "-n", OPERATOR_NAMESPACE).split():
        # As where the terminal was closed meanwhile; helm would wait for whoever has begun.
        progress.say(f"operator: the last run has left {RELEASE} half done; it begins anew")
        cluster.helm("uninstall", RELEASE, "-n", OPERATOR_NAMESPACE, "--wait")
    # Helm installs CRDs once and never upgrades them.
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    cluster.helm(
        *("upgrade", "--install", RELEASE, str(ROOT / "charts" / "sluice")),
        *("--namespace", OPERATOR_NAMESPACE, "--create-namespace", "--wait", "--timeout", "150s"),
        *("--set", "image.tag=dev", "--set", f"watchNamespaces={{{watched}}}"),
        *("--set", "operator.pollIntervalSeconds=2"),
        *("--set", f"prometheus.url=http://prometheus.{NAMESPACE}.svc:9090"),
        # The tag stays the same when the image changes, and a Deployment would not notice.
        *("--set-string", f"podAnnotations.sluice-demo/build={RECIPES['operator'].key('')}"),
    )


def _start_services(progress: Progress) -> None:
    cluster.kubectl("apply", "-n", NAMESPACE, "-f", "-", text=rules())
    for name in ("kafka", "prometheus"):
        cluster.kubectl("apply", "-n", NAMESPACE, "-f", "-", text=manifest(name, NAMESPACE))
    for name in ("kafka", "prometheus"):
        _wait_for_deployment(name, progress)


def _wait_for_deployment(name: str, progress: Progress) -> None:
    wait_for(
        name,
        lambda: see_deployment(cluster.read("deployment", name)),
        progress,
        seconds=SERVICES_SECONDS,
        remedy=LOOK_AGAIN,
    )


def see_deployment(deployment: Mapping[str, Any]) -> Sight:
    """Whether a Deployment's one pod is ready."""
    ready = deployment.get("status", {}).get("readyReplicas", 0)
    return Sight(done=bool(ready), words="ready" if ready else "starting")


def _start_load(progress: Progress, *, afresh: bool) -> None:
    former = cluster.read("job", LOAD)
    if has_ended(former) or (former and afresh):
        progress.say("load: it begins anew")
        cluster.kubectl("delete", "job", LOAD, "-n", NAMESPACE)
    cluster.kubectl("apply", "-n", NAMESPACE, "-f", str(MANIFESTS / "load.yaml"))
    wait_for(
        "load",
        lambda: see_load(cluster.read("job", LOAD)),
        progress,
        seconds=SERVICES_SECONDS,
        remedy=LOOK_AGAIN,
    )


def has_ended(job: Mapping[str, Any]) -> bool:
    """Whether a Job is over, well or not."""
    conditions = job.get("status", {}).get("conditions", [])
    return any(
        one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions
    )


def see_load(job: Mapping[str, Any]) -> Sight:
    """Whether the load is on its way; its pod is ready only after both topics were made."""
    ready = job.get("status", {}).get("ready", 0)
    words = (
        "40 to 160 rows/s, for two hours" if ready else "creating the topics events and enriched"
    )
    return Sight(done=bool(ready), words=words)


def _start_job(progress: Progress) -> None:
    cluster.kubectl("apply", "-n", NAMESPACE, "-f", str(SAMPLE))
    wait_for(
        JOB,
        lambda: see_job(cluster.read("streamjob", JOB)),
        progress,
        seconds=READY_SECONDS,
        remedy=LOOK_AGAIN,
    )


def see_job(resource: Mapping[str, Any]) -> Sight:
    """Whether the StreamJob is Ready with all its executors, in its own words."""
    status = resource.get("status", {})
    ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), None)
    if ready is None or status.get("observedGeneration") != resource["metadata"]["generation"]:
        return Sight(done=False, words="the operator has not seen it yet")
    phase, executors = status.get("phase", ""), status.get("executors", {})
    have = f"{executors.get('running', 0)}/{executors.get('wanted', 0)} executors"
    words = f"{phase}, {have}: {ready['message']}"
    complete = executors.get("running", 0) >= executors.get("wanted", 0)
    return Sight(done=ready["status"] == "True" and complete, words=words, hopeless=_cure(phase))


def _cure(phase: str) -> str:
    resume = json.dumps({"spec": {"suspend": False}})
    cures = {
        "Suspended": f"resume it: kubectl patch sj {JOB} -n {NAMESPACE} --type=merge -p '{resume}'",
        "Invalid": f"correct {SAMPLE.relative_to(ROOT)}, then run `make demo` again",
        "Refused": f"kubectl describe sj {JOB} -n {NAMESPACE}, or `make demo-down` and `make demo`",
        "Failed": f"kubectl describe sj {JOB} -n {NAMESPACE}, or `make demo-down` and `make demo`",
    }
    return cures.get(phase, "")
