"""Know which nodes are to be emptied: those that somebody has cordoned, as `kubectl drain` does first.

One question every ten seconds, which mostly has an empty answer, whatever the size of the cluster; a watch would tell
of all that every kubelet writes.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from sluice.core.application import JobKey
from sluice.errors import SluiceError
from sluice.ports import NODES, Clock, Cluster
from sluice.services.fleet import Fleet

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two questions."""


class Cordons:
    """The cordoned nodes, each with when it was first seen so; `told` is called with the jobs on it."""

    def __init__(
        self,
        cluster: Cluster,
        fleet: Fleet,
        clock: Clock,
        *,
        told: Callable[[JobKey], None],
        asks: bool = True,
    ) -> None:
        self._cluster = cluster
        self._fleet = fleet
        self._clock = clock
        self._told = told
        self._asks = asks
        self._since: dict[str, datetime] = {}
        self._is_told = False
        self.are_known = False
        """Whether the last question was answered: else nobody would move what a drain waits for."""

    def concern(self, node: str | None, created: datetime) -> bool:
        """Whether a pod is to leave its node. One that came there afterwards tolerates it, and would come again."""
        since = self._since.get(node) if node is not None else None
        return since is not None and created <= since

    async def run(self) -> None:
        """Ask again and again until cancelled."""
        if not self._asks:
            log.info("nodes are not looked at: no job is moved when one is cordoned")
            return
        while True:
            await asyncio.sleep(EVERY)
            await self.ask()

    async def ask(self) -> None:
        """Ask once. Without an answer, what was known stays."""
        if not self._asks:
            return
        try:
            nodes = self._cluster.each(NODES, None, fields="spec.unschedulable=true")
            found = {node["metadata"]["name"] async for node in nodes}
        except SluiceError as error:
            if not self._is_told:
                log.warning("cannot see which nodes are cordoned; no job is moved: %s", error)
            self.are_known, self._is_told = False, True
            return
        self.are_known, self._is_told = True, False
        new = found - self._since.keys()
        now = self._clock.now()
        self._since = {node: self._since.get(node, now) for node in found}
        for key in self._fleet.on_nodes(new):
            self._told(key)
