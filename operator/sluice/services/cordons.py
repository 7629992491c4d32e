"""Know which nodes are to be emptied: those that somebody has cordoned, as `kubectl drain` does first, and those that
have the taint of an autoscaler which removes them.

One question every ten seconds for all that are cordoned, which mostly has an empty answer, and one for each other node
that has pods of a job, because the API server selects by no taint. A watch would tell of all that every kubelet writes.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime

from sluice.core.application import JobKey
from sluice.errors import SluiceError
from sluice.ports import NODES, Clock, Cluster, Json
from sluice.services.fleet import Fleet

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two questions."""

_OF_CORDONS = "node.kubernetes.io/unschedulable"
"""The taint that Kubernetes gives to a node that somebody has cordoned."""

_OF_REMOVAL = (
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "ToBeDeletedByClusterAutoscaler",
)
"""The taints with which Karpenter, its releases before 1.0, and cluster-autoscaler begin to remove a node. A budget of
disruptions would hold it for ever.
"""


@dataclass(frozen=True, slots=True)
class _Emptying:
    """Since when a node is to be emptied, as its taint tells or it was first seen, and by what."""

    since: datetime
    why: str


class Cordons:
    """The nodes that are to be emptied; `told` is called with the jobs on a new one."""

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
        self.asks = asks
        """Whether nodes are asked about at all: else nobody ever moves a driver."""
        self._emptying: dict[str, _Emptying] = {}
        self._is_told = False
        self.are_known = False
        """Whether the last question was answered: else nobody would move what a drain waits for."""

    def why_leave(self, node: str | None, created: datetime) -> str:
        """What is wrong with the node that a pod is to leave; empty if it may stay.

        One that came there afterwards tolerates it, and would come again.
        """
        emptying = self._emptying.get(node) if node is not None else None
        return emptying.why if emptying is not None and created <= emptying.since else ""

    async def run(self) -> None:
        """Ask again and again until cancelled."""
        if not self.asks:
            log.info("nodes are not looked at: no job is moved when one is cordoned")
            return
        while True:
            await asyncio.sleep(EVERY)
            await self.ask()

    async def ask(self) -> None:
        """Ask once. Without an answer, what was known stays."""
        if not self.asks:
            return
        try:
            found = {name: emptying async for name, emptying in self._to_be_emptied()}
        except SluiceError as error:
            if not self._is_told:
                log.warning("cannot see which nodes are cordoned; no job is moved: %s", error)
            self.are_known, self._is_told = False, True
            return
        self.are_known, self._is_told = True, False
        before = self._emptying
        self._emptying = {node: before.get(node, emptying) for node, emptying in found.items()}
        for key in self._fleet.on_nodes(found.keys() - before.keys()):
            self._told(key)

    async def _to_be_emptied(self) -> AsyncIterator[tuple[str, _Emptying]]:
        cordoned = set()
        async for node in self._cluster.each(NODES, None, fields="spec.unschedulable=true"):
            cordoned.add(node["metadata"]["name"])
            taints = node["spec"].get("taints", ())
            taint: Json = next((one for one in taints if one["key"] == _OF_CORDONS), {})
            yield node["metadata"]["name"], self._since(taint, "is cordoned")
        # Known ones too, although all have left: who tolerates the taint and comes again must not be moved again.
        for name in sorted((self._fleet.nodes() | self._emptying.keys()) - cordoned):
            async for node in self._cluster.each(NODES, None, fields=f"metadata.name={name}"):
                for taint in node["spec"].get("taints", ()):
                    if taint["key"] in _OF_REMOVAL:
                        why = f"is being removed, as its taint {taint['key']} says"
                        yield name, self._since(taint, why)

    def _since(self, taint: Json, why: str) -> _Emptying:
        added = taint.get("timeAdded")
        return _Emptying(
            since=datetime.fromisoformat(added) if added else self._clock.now(), why=why
        )
