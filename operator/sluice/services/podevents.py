"""What only Events tell of a pod of a job that does not start: volumes and networks that keep the kubelet from making
its container, and the node that the cluster's autoscaler adds for it.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.core.application import JobKey
from sluice.core.observations import DriverPod, WaitingExecutor
from sluice.errors import ClusterUnavailable, NotAllowed
from sluice.manifests import reading
from sluice.ports import EVENTS, Clock, Cluster, Json
from sluice.services.fleet import Fleet

log = logging.getLogger(__name__)

SOON = timedelta(seconds=5)
"""A pod has a node, and its container is made, within that time, if nothing hinders."""

AGAIN = timedelta(seconds=10)
"""Events are read again after that time: a job is looked at more often, with each answer of its agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """What the Events of a pod told, and until when that is good enough."""

    uid: str
    until: datetime
    warning: tuple[str, str] | None
    node: str


class PodEvents:
    """The Events of pods that take long to start."""

    def __init__(self, cluster: Cluster, fleet: Fleet, clock: Clock) -> None:
        self._cluster = cluster
        self._fleet = fleet
        self._clock = clock
        self._heard: dict[JobKey, _Heard] = {}

    async def hear(self, key: JobKey) -> float | None:
        """Tell the fleet what hinders or helps a pod; the seconds after which to ask again, if one does not start.

        Of several executors one is asked about: they are of one template.
        """
        pod, now = self._not_started(key), self._clock.now()
        if pod is None:
            self._heard.pop(key, None)
            return None
        age = now - pod.created
        if age < SOON:
            return (SOON - age).total_seconds()
        heard = self._heard.get(key)
        if heard is None or heard.uid != pod.uid or now >= heard.until:
            try:
                events = await self._events(key, pod.uid)
            except (NotAllowed, ClusterUnavailable) as error:
                log.info("cannot read why %s does not start: %s", pod.name, error)
                return AGAIN.total_seconds()
            heard = _Heard(
                uid=pod.uid,
                until=now + AGAIN,
                warning=reading.newest_warning(events),
                node=reading.ordered_node(events),
            )
            self._heard[key] = heard
        # What a watch tells of the pod meanwhile does not have it.
        if pod.is_being_made:
            self._fleet.hinder(key, pod.uid, heard.warning)
        else:
            self._fleet.order_node(key, pod.uid, heard.node)
        return (heard.until - now).total_seconds()

    def _not_started(self, key: JobKey) -> DriverPod | WaitingExecutor | None:
        driver = self._fleet.driver(key)
        if driver is not None and not (driver.deleting or driver.is_over) and _is_told_of(driver):
            return driver
        executors = (pod for pod in self._fleet.waiting(key) if _is_told_of(pod))
        return min(
            executors, key=lambda pod: (not pod.is_being_made, pod.created, pod.name), default=None
        )

    async def _events(self, key: JobKey, uid: str) -> list[Json]:
        fields = f"involvedObject.uid={uid}"
        return [event async for event in self._cluster.each(EVENTS, key.namespace, fields=fields)]


def _is_told_of(pod: DriverPod | WaitingExecutor) -> bool:
    return pod.is_being_made or pod.lacks_node
