"""One operator acts at a time: the one that holds a Lease.

kopf's peering is a heartbeat, not a lock: two operators can act between two beats. Here nobody acts unless it
renewed the Lease itself within the lease's duration, by its own monotonic clock.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sluice.errors import NotFound, SluiceError
from sluice.ports import LEASES, Clock, Cluster

log = logging.getLogger(__name__)

DURATION = timedelta(seconds=12)
RENEW_EVERY = 3.0
ASK_EVERY = 1.0


class Leadership:
    """The right to act, held through a Lease named `name`."""

    def __init__(
        self, cluster: Cluster, clock: Clock, *, namespace: str, name: str, identity: str
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._leased_until = float("-inf")
        self._has_begun = False
        self._seen: tuple[str, float] | None = None
        """The other holder's last renewal, and when we first saw it, by our own clock."""

    @property
    def is_held(self) -> bool:
        """Whether this process may act now: it has the lease, and `on_gain` is done."""
        return self._has_begun and self._has_lease

    @property
    def _has_lease(self) -> bool:
        return asyncio.get_running_loop().time() < self._leased_until

    async def keep(self, on_gain: Callable[[], Awaitable[None]]) -> None:
        """Acquire and renew until cancelled; `on_gain` runs before each time that leadership begins."""
        try:
            while True:
                # After a gap another one may have led: what was known is worth nothing.
                self._has_begun = self.is_held
                await self._try()
                if self._has_lease and not self._has_begun:
                    await self._begin(on_gain)
                await asyncio.sleep(RENEW_EVERY if self.is_held else ASK_EVERY)
        finally:
            await self._release()

    async def _begin(self, on_gain: Callable[[], Awaitable[None]]) -> None:
        """See everything first. That may outlast the lease, which is renewed meanwhile."""
        renewing = asyncio.create_task(self._renew())
        try:
            await on_gain()
            self._has_begun = True
            log.info("%s leads", self._identity)
        except SluiceError as error:
            # Half an overview is worse than none: begin again from nothing.
            log.warning("%s cannot begin: %s", self._identity, error)
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY)
            await self._try()

    async def _try(self) -> None:
        asked = asyncio.get_running_loop().time()
        try:
            if await self._renewed(asked):
                self._leased_until = asked + DURATION.total_seconds() - 1
        except SluiceError as error:
            log.warning("cannot renew the lease %s: %s", self._name, error)

    async def _renewed(self, asked: float) -> bool:
        now = self._clock.now()
        try:
            lease = await self._cluster.get(LEASES, self._namespace, self._name)
        except NotFound:
            await self._cluster.create(LEASES, self._lease({}, now))
            return True
        holder = lease["spec"].get("holderIdentity")
        if holder and holder != self._identity and not self._has_run_out(lease, asked):
            return False
        await self._cluster.replace(LEASES, self._lease(lease, now))
        return True

    def _has_run_out(self, lease: dict[str, Any], asked: float) -> bool:
        """Whether the other holder has been silent for the whole duration, by our clock alone."""
        renewal = f"{lease['spec'].get('holderIdentity')}@{lease['spec'].get('renewTime')}"
        if self._seen is None or self._seen[0] != renewal:
            self._seen = (renewal, asked)
            return False
        lasts: int = lease["spec"].get("leaseDurationSeconds", 0)
        return asked - self._seen[1] > lasts

    def _lease(self, before: dict[str, Any], now: datetime) -> dict[str, Any]:
        metadata = before.get("metadata", {"name": self._name, "namespace": self._namespace})
        spec = before.get("spec", {})
        ours = spec.get("holderIdentity") == self._identity
        return {
            "apiVersion": LEASES.api_version,
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": int(DURATION.total_seconds()),
                "acquireTime": spec["acquireTime"] if ours else _micro(now),
                "renewTime": _micro(now),
                "leaseTransitions": spec.get("leaseTransitions", 0) + (0 if ours else 1),
            },
        }

    async def _release(self) -> None:
        """Give the lease up, so that a successor need not wait for it to run out."""
        if not self._has_lease:
            return
        self._leased_until = float("-inf")
        try:
            lease = await self._cluster.get(LEASES, self._namespace, self._name)
            if lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"]["holderIdentity"] = ""
                await self._cluster.replace(LEASES, lease)
        except SluiceError as error:
            log.warning("cannot release the lease %s: %s", self._name, error)


def _micro(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
