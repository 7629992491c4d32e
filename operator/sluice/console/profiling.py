"""Profile a job from the terminal: say what that will take, declare it, and follow it to its table of points.

What follows is the StreamProfile's own: the operator goes on without this command, and the profile is ended by
deleting it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import sleep
from typing import Any

from sluice.api import convert
from sluice.console import finding, words
from sluice.console.cluster import Cluster, path_of
from sluice.console.trouble import NotThere, Unreachable
from sluice.core.application import StreamJob
from sluice.core.deciding.situation import Bounds
from sluice.core.profiling import budget, planning
from sluice.core.profiling.records import Start
from sluice.core.quantities import format_duration
from sluice.ports import STREAM_PROFILES, Clock, Json

EVERY = 2.0
"""Seconds between two looks."""

_NO_CRD = "this cluster has no StreamProfiles: the CRD streamprofiles.sluice.dev is not installed"
_APPLY = "Apply it: kubectl apply --server-side -f crds/"
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be measured, from where on; no executors means that they are chosen by need."""

    start: Start = Start.EARLIEST
    executors: tuple[int, ...] = ()
    core_hours: float = 2.0
    wall_time: timedelta = timedelta(minutes=30)
    parallel: int = 2
    namespaces: tuple[str, ...] = ()

    @property
    def spec(self) -> Json:
        """The same as a part of a StreamProfile's spec."""
        return {
            "from": str(self.start),
            "executors": list(self.executors),
            "budget": {
                "coreHours": self.core_hours,
                "wallTime": f"{self.wall_time.total_seconds():.0f}s",
            },
            "parallel": self.parallel,
            "namespaces": list(self.namespaces),
        }


def job_of(cluster: Cluster, namespace: str, name: str) -> StreamJob:
    """The job that is to be profiled. Raises InvalidSpec if it could not run as it is."""
    return convert.streamjob(finding.job(cluster, namespace, name))


def declare(cluster: Cluster, job: StreamJob, wish: Wish, clock: Clock) -> Json:
    """Make a StreamProfile of a job."""
    namespace = job.key.namespace
    metadata = {"name": f"{job.key.name}-{clock.now():%Y%m%d-%H%M%S}", "namespace": namespace}
    body = {
        "apiVersion": STREAM_PROFILES.api_version,
        "kind": "StreamProfile",
        "metadata": metadata,
        "spec": {"job": job.key.name, **wish.spec},
    }
    try:
        return cluster.post(path_of(STREAM_PROFILES, namespace), body)
    except NotThere as error:
        raise NotThere(_NO_CRD, _APPLY) from error


def planned(job: StreamJob, wish: Wish) -> str:
    """What the profile will take, as far as it can be told before."""
    sizes = wish.executors or _likely(job)
    plan = budget.plan(job, sizes, wish.parallel)
    is_open = not wish.executors and wish.start is Start.EARLIEST
    return (
        f"{plan.copies} copies{' at most' if is_open else ''}, with {', '.join(map(str, sizes))} executors"
        f"{' or others between them' if is_open and len(sizes) > 2 else ''}: "
        f"about {plan.core_seconds / 3600:.2f} of {wish.core_hours:g} core-hours, "
        f"{format_duration(timedelta(seconds=plan.wall_seconds))} with {wish.parallel} at a time"
    )


def _likely(job: StreamJob) -> tuple[int, ...]:
    executors = job.executors
    return planning.scale_outs(Bounds(smallest=executors.minimum, largest=executors.maximum))


def followed(cluster: Cluster, namespace: str, name: str, tell: Callable[[str], None]) -> Json:
    """Follow a profile, and tell in lines what happens to it; the profile as it has ended."""
    told: dict[str, str] = {}
    while True:
        profile = _seen(cluster, namespace, name)
        status = profile.get("status") or {}
        for place, line in _news(status).items():
            if told.get(place) != line:
                told[place] = line
                tell(line)
        if status.get("phase") in _ENDED:
            return profile
        sleep(EVERY)


def _seen(cluster: Cluster, namespace: str, name: str) -> Json:
    """The profile; a cluster that is away tells nothing of it."""
    try:
        return look(cluster, namespace, name)
    except Unreachable:
        return {}


def _news(status: Mapping[str, Any]) -> dict[str, str]:
    """What is worth a line: of each copy by its namespace, and of a profile that waits by none."""
    lines = {copy["namespace"]: _copy_line(copy) for copy in status.get("copies", ())}
    return lines | {"": reason(status)} if status.get("phase") == "Pending" else lines


def look(cluster: Cluster, namespace: str, name: str) -> Json:
    """The profile as it is."""
    return cluster.get(path_of(STREAM_PROFILES, namespace, name))


def is_fine(profile: Mapping[str, Any]) -> bool:
    """Whether all was measured that was wanted."""
    return bool((profile.get("status") or {}).get("phase") == "Succeeded")


def reason(status: Mapping[str, Any]) -> str:
    """Why it is in its phase."""
    found = (one for one in status.get("conditions", ()) if one["type"] == "Complete")
    complete: Json = next(found, {})
    return words.printable(f"{complete.get('reason', '')}: {complete.get('message', '')}")


def table(profile: Mapping[str, Any]) -> list[str]:
    """The points, in aligned columns."""
    points = (profile.get("status") or {}).get("points", ())
    if not points:
        return []
    if all("latency" in point for point in points):
        return _aligned([_LIVE_TITLES, *map(_live_row, points)])
    return _aligned([_TITLES, *map(_row, points)])


_TITLES = ("EXECUTORS", "ROWS/S", "ERROR", "BATCHES", "OVERHEAD", "")
_LIVE_TITLES = ("EXECUTORS", "P50", "P95", "P99", "ARRIVING/S", "BATCHES", "")


def _row(point: Mapping[str, Any]) -> tuple[str, ...]:
    rate, error = point["rowsPerSecond"], point["errorRowsPerSecond"]
    bounds = [text for field, text in _BOUNDS if point.get(field)]
    return (
        str(point["executors"]),
        words.count(rate),
        words.percent(error / rate) if rate else words.NOTHING,
        str(point.get("batches", 0)),
        words.span(point.get("overheadSeconds")),
        ", ".join(bounds),
    )


def _live_row(point: Mapping[str, Any]) -> tuple[str, ...]:
    latency = point["latency"]
    remarks = [] if latency["keepsUp"] else ["does not keep up"]
    return (
        str(point["executors"]),
        *(words.span(latency[name]) for name in ("p50Seconds", "p95Seconds", "p99Seconds")),
        words.count(latency["arrivingRowsPerSecond"]),
        str(point.get("batches", 0)),
        ", ".join([*remarks, *(text for field, text in _BOUNDS if point.get(field))]),
    )


_BOUNDS = (("lowerBound", "may be higher"), ("upperBound", "may be lower"))


def _copy_line(copy: Mapping[str, Any]) -> str:
    message = copy.get("message")
    why = words.printable(f": {message}") if message else ""
    size = f"{copy['executors']} executor{'' if copy['executors'] == 1 else 's'}"
    return f"{size}: {copy['phase']}{why}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
