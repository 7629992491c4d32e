"""What keeps the kubelet from making a container of a job: volumes and networks, of which only Events tell."""

import logging
from datetime import timedelta

from sluice.core.application import JobKey
from sluice.core.observations import DriverPod, WaitingExecutor
from sluice.errors import ClusterUnavailable, NotAllowed
from sluice.manifests.reading import newest_warning
from sluice.ports import EVENTS, Clock, Cluster
from sluice.services.fleet import Fleet

log = logging.getLogger(__name__)

SOON = timedelta(seconds=5)
"""A container is made within that time, if nothing hinders."""

AGAIN = 10.0
"""Seconds after which Events are read again: the pod itself does not change."""


class Kubelets:
    """The Events of pods whose containers take long to be made."""

    def __init__(self, cluster: Cluster, fleet: Fleet, clock: Clock) -> None:
        self._cluster = cluster
        self._fleet = fleet
        self._clock = clock

    async def hear(self, key: JobKey) -> float | None:
        """Tell the fleet what hinders a container; the seconds after which to ask again, if one is not made.

        Of several executors one is asked about: they are of one template.
        """
        pod = self._being_made(key)
        if pod is None:
            return None
        age = self._clock.now() - pod.created
        if age < SOON:
            return (SOON - age).total_seconds()
        try:
            self._fleet.hinder(key, pod.uid, await self._hindrance(key, pod.uid))
        except (NotAllowed, ClusterUnavailable) as error:
            log.info("cannot read why the container of %s is not made: %s", pod.name, error)
        return AGAIN

    def _being_made(self, key: JobKey) -> DriverPod | WaitingExecutor | None:
        driver = self._fleet.driver(key)
        if driver is not None and driver.is_being_made and not (driver.deleting or driver.is_over):
            return driver
        executors = (pod for pod in self._fleet.waiting(key) if pod.is_being_made)
        return min(executors, key=lambda pod: pod.created, default=None)

    async def _hindrance(self, key: JobKey, uid: str) -> tuple[str, str] | None:
        fields = f"involvedObject.uid={uid}"
        return newest_warning(
            [event async for event in self._cluster.each(EVENTS, key.namespace, fields=fields)]
        )
