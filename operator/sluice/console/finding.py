"""Find jobs and their events in a cluster; say which one was probably meant when there is none of that name."""

import difflib
from collections.abc import Iterable

from sluice.console.cluster import Cluster, path_of
from sluice.console.trouble import NotThere, Trouble
from sluice.manifests.profiling.labelling import profile_uid
from sluice.ports import EVENTS, STREAM_JOBS, Json

_MOST_TOLD = 5
_NO_CRD = "this cluster has no StreamJobs: the CRD streamjobs.sluice.dev is not installed"
_INSTALL = "Install Sluice, or choose another cluster with --context; see docs/install.md"


def jobs(cluster: Cluster, namespace: str | None) -> list[Json]:
    """The StreamJobs of a namespace, or of the cluster; copies that are profiled are nobody's jobs."""
    try:
        found = cluster.list(STREAM_JOBS, namespace)
    except NotThere as error:
        raise NotThere(_NO_CRD, _INSTALL) from error
    return [one for one in found if profile_uid(one) is None]


def job(cluster: Cluster, namespace: str, name: str) -> Json:
    """One StreamJob. Raises NotThere with the names that it could be."""
    try:
        found = cluster.get(path_of(STREAM_JOBS, namespace, name))
    except NotThere as error:
        raise _missing(cluster, namespace, name) from error
    # At the path of what is no name, as "" or "clicks/status", there is something else than a job.
    if found["metadata"].get("name") != name:
        raise _missing(cluster, namespace, name)
    return found


def _missing(cluster: Cluster, namespace: str, name: str) -> NotThere:
    there = {one["metadata"]["name"] for one in jobs(cluster, namespace)}
    told = f"no StreamJob {name!r} in namespace {namespace!r}"
    return NotThere(told, suggestion(name, there, _namespaces_of(cluster, name)))


def suggestion(name: str, there: Iterable[str], elsewhere: Iterable[str]) -> str:
    """What to ask for instead: the same name in another namespace, or a like one in this."""
    places, known = sorted(elsewhere), sorted(there)
    if places:
        return f"There is one in {_some(places)}: add -n {places[0]}"
    like = difflib.get_close_matches(name, known, n=_MOST_TOLD, cutoff=0.5)
    if like:
        return f"Did you mean {_some(like)}?"
    if known:
        return f"There are: {_some(known)}"
    return "There is none in this namespace; `sluice top -A` shows those of all"


def events(cluster: Cluster, namespace: str, name: str, uid: str) -> list[Json]:
    """What was told of a job, as far as the cluster still knows: by default one hour."""
    selector = f"involvedObject.kind=StreamJob,involvedObject.name={name},involvedObject.uid={uid}"
    return cluster.list(EVENTS, namespace, fieldSelector=selector)


def _namespaces_of(cluster: Cluster, name: str) -> list[str]:
    try:
        found = jobs(cluster, None)
    except Trouble:
        # It only helps to find the job: that there is none of that name here is known.
        return []
    return [one["metadata"]["namespace"] for one in found if one["metadata"]["name"] == name]


def _some(names: list[str]) -> str:
    told = ", ".join(names[:_MOST_TOLD])
    return f"{told} and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else told
