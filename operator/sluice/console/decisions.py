"""The decisions that are kept of a job, each made once more from all that it was made from.

The operator keeps them in the ConfigMap that `sluice.manifests.notebook` describes, by ids that sort by time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sluice.console.cluster import Cluster, path_of
from sluice.console.job import Job
from sluice.console.trouble import NotNow, NotThere
from sluice.core.deciding.decision import Decision
from sluice.core.deciding.judging import Verdict
from sluice.core.deciding.storing import Record, record_from_data
from sluice.errors import CorruptState
from sluice.manifests import notebook
from sluice.ports import CONFIG_MAPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A decision, what it was made from, and what became of it if it was judged."""

    id: str
    record: Record
    decision: Decision
    verdict: Verdict | None = None

    @property
    def at(self) -> datetime:
        """When it was made."""
        return datetime.fromtimestamp(self.record.situation.at, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """What is stored in the place of a decision, and cannot be read."""

    id: str
    why: str


def decisions(cluster: Cluster, job: Job) -> tuple[Kept | Unreadable, ...]:
    """All that are kept, from the oldest to the newest."""
    return tuple(_made_again(id, stored) for id, stored in _stored(cluster, job).items())


def decision(cluster: Cluster, job: Job, id: str | None) -> Kept:
    """The one of an id, else the newest. Raises NotThere, or NotNow if it cannot be read."""
    found = _stored(cluster, job)
    if not found:
        raise NotThere(lack(job), remedy(job))
    wanted = id or max(found)
    if wanted not in found:
        told = f"no decision {wanted!r} is kept of {job.namespace}/{job.name}"
        raise NotThere(told, f"There are: {', '.join(found)}")
    made = _made_again(wanted, found[wanted])
    if isinstance(made, Unreadable):
        told = f"the decision {wanted} of {job.namespace}/{job.name} cannot be read: {made.why}"
        raise NotNow(told, "Use the command of the operator's version; `sluice version` shows both")
    return made


def lack(job: Job) -> str:
    """That there is no decision, and why."""
    why = "" if job.mode != "Off" else ": spec.scaling.mode is Off"
    return f"no decision is kept of {job.namespace}/{job.name}{why}"


def remedy(job: Job) -> str:
    """How there will be decisions."""
    if job.mode == "Off":
        return "Set it to Observe to be told decisions that change nothing, to Approve or to Auto"
    return "The condition ScalingActive says what it waits for: sluice status " + job.name


def _stored(cluster: Cluster, job: Job) -> Mapping[str, Mapping[str, Any]]:
    try:
        body = cluster.get(path_of(CONFIG_MAPS, job.namespace, notebook.name(job.name)))
    except NotThere:
        return {}
    owners = body["metadata"].get("ownerReferences") or ()
    # A job that was deleted and made again has the same name, but not the same past.
    if not any(owner.get("uid") == job.resource["metadata"]["uid"] for owner in owners):
        return {}
    return notebook.read_notebook(body).decisions


def _made_again(id: str, stored: Mapping[str, Any]) -> Kept | Unreadable:
    try:
        record = record_from_data(stored)
    except (CorruptState, ValueError) as error:
        return Unreadable(id=id, why=str(error.__cause__ or error))
    verdict = notebook.verdict_of(stored)
    return Kept(id=id, record=record, decision=record.decided(), verdict=verdict)
