"""The log of a job's driver, or why there is none."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from sluice.console import finding
from sluice.console.cluster import Cluster, path_of
from sluice.console.job import Job
from sluice.console.trouble import NotNow, NotThere
from sluice.manifests import names
from sluice.ports import PODS


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """Which part of a log."""

    follow: bool = False
    tail: int | None = None
    since: timedelta | None = None
    timestamps: bool = False
    previous: bool = False

    @property
    def parameters(self) -> dict[str, str]:
        """As the API server takes it."""
        flags = {"follow": self.follow, "timestamps": self.timestamps, "previous": self.previous}
        asked = {name: "true" for name, is_set in flags.items() if is_set}
        if self.tail is not None:
            asked["tailLines"] = str(self.tail)
        if self.since is not None:
            asked["sinceSeconds"] = f"{self.since.total_seconds():.0f}"
        return {"container": names.DRIVER, **asked}


def driver_log(cluster: Cluster, namespace: str, name: str, query: LogQuery) -> Iterator[bytes]:
    """The log, in pieces. Raises Trouble if there is no such job, or no log."""
    job = Job(finding.job(cluster, namespace, name))
    pod = job.part("driver").get("pod") or names.driver_pod(name)
    try:
        yield from cluster.lines(path_of(PODS, namespace, pod, "log"), **query.parameters)
    except NotThere as error:
        raise NotThere(f"no driver runs: {job.phase}. {job.why}", _last_words(job)) from error
    except NotNow as error:
        if query.previous:
            raise NotThere(_NO_PREVIOUS, _last_words(job)) from error
        raise


_NO_PREVIOUS = (
    "this driver's container is its pod's first: each incarnation has a pod of its own, "
    "and the log goes with the pod"
)


def _last_words(job: Job) -> str:
    """What is kept of the last failure, or of the last start that failed, when the log is gone."""
    failures = job.part("failures")
    if "message" not in failures:
        return ""
    return f"Incarnation {failures.get('incarnation')}: {failures['message']}"
