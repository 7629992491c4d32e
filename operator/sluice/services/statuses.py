"""Write jobs' statuses and events: at once when something happened, else at most every ten seconds a job."""

import asyncio
import hashlib
import json
from typing import Any

from sluice.core.application import JobKey
from sluice.core.news import News
from sluice.ports import Clock, Cluster
from sluice.services.fleet import Fleet
from sluice.services.telling import announce, apply_status

Json = dict[str, Any]

SHORTEST_PAUSE = 10.0
"""Seconds between two writes that only bring new numbers."""

_NUMBERS = frozenset(
    "stream slo summary checkpoint driver executors replicas decision profiling staffing".split()
)
"""Parts of a status that change with every batch, or several times while pods start: of a hundred jobs that start
together each would be written twice as often, and a write costs the API server as much as making a pod.
"""


class Statuses:
    """The written statuses, as far as needed to know what is new."""

    def __init__(self, cluster: Cluster, fleet: Fleet, clock: Clock) -> None:
        self._cluster = cluster
        self._fleet = fleet
        self._clock = clock
        self._written: dict[JobKey, tuple[bytes, bytes, float]] = {}

    def forget_all(self) -> None:
        """Write every status anew when it comes up next."""
        self._written.clear()

    def forget(self, key: JobKey) -> None:
        """Drop what is known of a job that is gone."""
        self._written.pop(key, None)

    async def write(
        self, key: JobKey, uid: str, status: Json, *, must_be_seen: bool
    ) -> float | None:
        """Apply a status if it differs; the seconds to wait if it only brings numbers too soon.

        With `must_be_seen` nobody else may have written the object since we last saw it; raises Conflict then.
        """
        now = asyncio.get_running_loop().time()
        calm, whole = _digest(_without_numbers(status)), _digest((uid, status))
        before = self._written.get(key)
        if before is not None and not must_be_seen and self._is_there(key):
            if whole == before[1]:
                return None
            due = before[2] + SHORTEST_PAUSE
            if calm == before[0] and now < due:
                return due - now
        version = self._version(key) if must_be_seen else None
        answer = await apply_status(self._cluster, "StreamJob", key, uid, status, version)
        self._fleet.see_job(answer)
        self._written[key] = (calm, whole, now)
        return None

    async def announce(self, key: JobKey, uid: str, item: News) -> None:
        """Log news of a job, and post an Event."""
        await announce(self._cluster, self._clock, "StreamJob", key, uid, item)

    def _is_there(self, key: JobKey) -> bool:
        """Whether the job still has a status of ours: somebody may have emptied it."""
        known = self._fleet.job(key)
        return known is not None and "conditions" in known.get("status", {})

    def _version(self, key: JobKey) -> str | None:
        known = self._fleet.job(key)
        return known["metadata"]["resourceVersion"] if known is not None else None


def _without_numbers(status: Json) -> Json:
    """What a person would want to hear of at once: no numbers, and of conditions not the wording."""
    calm = {name: part for name, part in status.items() if name not in _NUMBERS}
    calm["recoveries"] = {**status.get("recoveries", {}), "usualLag": None}
    calm["conditions"] = [
        (condition["type"], condition["status"], condition["reason"])
        for condition in status["conditions"]
    ]
    return calm


def _digest(part: object) -> bytes:
    return hashlib.blake2b(json.dumps(part, sort_keys=True).encode(), digest_size=12).digest()
