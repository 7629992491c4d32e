"""Take down what `raising` brought up, in the order that leaves nothing behind."""

from demo import cluster
from demo.names import COPY_NAMESPACES, NAMESPACE, OPERATOR_NAMESPACE, RELEASE
from demo.waiting import Sight, wait_for
from e2e.images.manifests import manifest
from e2e.images.progress import Progress

GONE_SECONDS = 150.0

_PLACES = (NAMESPACE, *COPY_NAMESPACES)
"""Where there are jobs, or copies of them."""


def remove_demo(progress: Progress) -> None:
    """Remove the jobs first, while their operator is there, then the release and the namespaces."""
    progress.say("deleting the StreamJobs and waiting for their pods")
    if cluster.read("namespace", NAMESPACE):
        _delete_jobs(progress)
    progress.say(f"uninstalling the Helm release {RELEASE}")
    cluster.helm("uninstall", RELEASE, "-n", OPERATOR_NAMESPACE, "--ignore-not-found", "--wait")
    # Its ClusterRole and its binding are outside of the namespace.
    cluster.kubectl(
        *("delete", "-n", NAMESPACE, "--ignore-not-found", "--wait=false", "-f", "-"),
        text=manifest("prometheus", NAMESPACE),
    )
    names = (*_PLACES, OPERATOR_NAMESPACE)
    cluster.kubectl("delete", "namespace", *names, "--ignore-not-found", "--wait=false")
    wait_for(
        "namespaces",
        lambda: _see_left([name for name in names if cluster.read("namespace", name)]),
        progress,
        seconds=GONE_SECONDS,
        remedy="kubectl get events -A shows what holds them; run `make demo-down` again",
    )


def _delete_jobs(progress: Progress) -> None:
    if not cluster.attempt("get", "crd", "streamjobs.sluice.dev"):
        return
    # Profiles first, or their copies would be made again.
    cluster.kubectl("delete", "streamprofiles", "--all", "-n", NAMESPACE)
    for place in _PLACES:
        cluster.kubectl("delete", "streamjobs", "--all", "-n", place)
    wait_for(
        "pods of the jobs",
        lambda: _see_left(_pods()),
        progress,
        seconds=GONE_SECONDS,
        remedy="kubectl get pods -A -l sluice.dev/job shows them; run `make demo-down` again",
    )


def _pods() -> list[str]:
    words = ("-l", "sluice.dev/job", "-o", "name")
    return [
        pod
        for place in _PLACES
        for pod in cluster.kubectl("get", "pods", "-n", place, *words).split()
    ]


def _see_left(left: list[str]) -> Sight:
    return Sight(done=not left, words=f"waiting for {', '.join(left)}" if left else "gone")


def advice() -> str:
    """What is left, and how to remove the rest."""
    others = cluster.kubectl("get", "streamjobs", "-A", "-o", "name").split()
    if others:
        return f"The cluster stays: {len(others)} other StreamJobs are on it."
    return "The cluster and the CRD stay. To remove the cluster: make cluster-down"
