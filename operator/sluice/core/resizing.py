"""Change the CPU of executors that run: no restart, where the cluster lets a running pod be resized.

Spark fixes the CPU of its executors' pods when the driver starts, so each pod that comes later has the old share again
and is resized, too: what is compared is always the pod as it is with the spec. Of a driver whose executors were never
resized no pod is touched, whatever others have made of it. A driver without executors, because pods with the old share
find no room or are refused, would never have any; what had none for `PATIENCE` counts as that, because executors that
were lost a moment ago may find their room again.

    another share is declared -> resized -> the pod says that its node has no room -> restart
                                    |          (at once, or when it might have room and had none for `PATIENCE`)
                                    +-----> the cluster refuses -----------------> restart
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sluice.core.application import StreamJob
from sluice.core.changes import CPU_FIELDS, Change, ChangeClass
from sluice.core.observations import DriverPod, ExecutorPod, Observed
from sluice.core.quantities import CpuShare

PATIENCE = timedelta(minutes=1)
"""How long room is waited for that there may be."""

_NEVER = "Infeasible"
_LIMIT = "application.executor.cpuLimit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """The share that the executors of one driver are to have without a restart; `refusal` is why that cannot be."""

    incarnation: int
    share: CpuShare
    refusal: str = ""


def followed(
    before: Resize | None,
    job: StreamJob,
    change: Change,
    driver: DriverPod,
    seen: Observed,
    *,
    now: datetime,
) -> Resize | None:
    """What is to be resized of a driver whose spec has so changed, and why that cannot be done; None if nothing is."""
    resize = _wished(before, job, change, driver)
    if resize is None or resize.refusal:
        return resize
    stuck = "" if CPU_FIELDS.isdisjoint(change.fields) else _lack_of_any(seen, now)
    return replace(resize, refusal=stuck or _refusal(resize.share, seen.executors, now))


def lacking(resize: Resize, executors: Iterable[ExecutorPod]) -> list[ExecutorPod]:
    """The executors that have been asked for nothing yet, or for another share. Of one that cannot be read nothing is
    known.
    """
    return [one for one in executors if one.share is not None and not _has(one.share, resize.share)]


def _wished(
    before: Resize | None, job: StreamJob, change: Change, driver: DriverPod
) -> Resize | None:
    share = _share_of(job)
    is_known = before is not None and before.incarnation == driver.incarnation
    is_changed = change.kind is ChangeClass.LIVE and not CPU_FIELDS.isdisjoint(change.fields)
    if not is_known and not is_changed:
        return None
    if is_known and before is not None and before.share == share:
        return before
    had_limit = is_known and before is not None and before.share.limit is not None
    is_taken_away = share.limit is None and (had_limit or _LIMIT in change.fields)
    refusal = "the limit of a container that runs cannot be taken away" if is_taken_away else ""
    return Resize(incarnation=driver.incarnation, share=share, refusal=refusal)


def _has(present: CpuShare, wanted: CpuShare) -> bool:
    """Whether a container has what it is to have. Where no limit is declared, one that it has is a LimitRange's."""
    is_limited = wanted.limit is None or present.limit == wanted.limit
    return is_limited and present.request == wanted.request


def _share_of(job: StreamJob) -> CpuShare:
    shape = job.application.executor
    return CpuShare(request=shape.cpu_request, limit=shape.cpu_limit)


def _lack_of_any(seen: Observed, now: datetime) -> str:
    """Why there is no executor that could be resized; with some, a restart might help nobody."""
    if seen.executors_running:
        return ""
    if seen.refused is not None and now - seen.refused.since > PATIENCE:
        return f"with what they had before, the cluster refuses them: {seen.refused.message.rstrip('.')}"
    for one in seen.waiting:
        is_stuck = one.lacks_node and not one.ordered_node and now - one.created > PATIENCE
        if is_stuck and one.obstacle is not None:
            reason, message = one.obstacle
            return f"with what it had before, the pod {one.name} has no node: {reason}: {message.rstrip('.')}"
    return ""


def _refusal(share: CpuShare, executors: Iterable[ExecutorPod], now: datetime) -> str:
    """What keeps the executors from having it; empty if nothing does, as far as is known."""
    for one in executors:
        if one.share is None or not _has(one.share, share) or one.obstacle is None:
            continue
        reason, message, since = one.obstacle
        if reason == _NEVER or now - since > PATIENCE:
            return f"the pod {one.name} is not resized: {reason}: {message.rstrip('.')}"
    return ""
