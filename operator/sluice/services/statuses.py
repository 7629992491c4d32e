"""Write jobs' statuses and events: at once when something happened, else at most every ten seconds a job."""

import asyncio
import hashlib
import json
from typing import Any

from sluice.core.application import JobKey
from sluice.core.news import News
from sluice.errors import Conflict, NotFound
from sluice.manifests import names
from sluice.ports import STREAM_JOBS, Clock, Cluster
from sluice.services import announcing
from sluice.services.fleet import Fleet

Json = dict[str, Any]

SHORTEST_PAUSE = 10.0
"""Seconds between two writes that only bring new numbers."""

_NUMBERS = frozenset(
    {"stream", "slo", "summary", "checkpoint", "driver", "executors", "replicas", "decision"}
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
        if before is not None and not must_be_seen:
            if whole == before[1]:
                return None
            if calm == before[0] and now - before[2] < SHORTEST_PAUSE:
                return SHORTEST_PAUSE - (now - before[2])
        await self._apply(key, uid, status, must_be_seen)
        self._written[key] = (calm, whole, now)
        return None

    async def _apply(self, key: JobKey, uid: str, status: Json, must_be_seen: bool) -> None:
        metadata: Json = {"name": key.name, "namespace": key.namespace, "uid": uid}
        known = self._fleet.job(key)
        if must_be_seen and known is not None:
            metadata["resourceVersion"] = known["metadata"]["resourceVersion"]
        body = {
            "apiVersion": names.API_VERSION,
            "kind": "StreamJob",
            "metadata": metadata,
            "status": status,
        }
        try:
            answer = await self._cluster.apply(STREAM_JOBS, body, subresource="status")
        except NotFound as error:
            raise Conflict(f"{key} is gone") from error
        self._fleet.see_job(answer)

    async def announce(self, key: JobKey, uid: str, item: News) -> None:
        """Log news of a job, and post an Event."""
        await announcing.announce(self._cluster, self._clock, "StreamJob", key, uid, item)


def _without_numbers(status: Json) -> Json:
    """What a person would want to hear of at once: no numbers, and of conditions not the wording."""
    calm = {name: part for name, part in status.items() if name not in _NUMBERS}
    calm["conditions"] = [
        (condition["type"], condition["status"], condition["reason"])
        for condition in status["conditions"]
    ]
    return calm


def _digest(part: object) -> bytes:
    return hashlib.blake2b(json.dumps(part, sort_keys=True).encode(), digest_size=12).digest()
