"""What keeps the kubelet from making a driver's container: volumes and networks, of which only Events tell."""

import logging
from datetime import timedelta

from sluice.core.application import JobKey
from sluice.core.observations import DriverPod
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
    """The Events of drivers' pods whose containers take long to be made."""

    def __init__(self, cluster: Cluster, fleet: Fleet, clock: Clock) -> None:
        self._cluster = cluster
        self._fleet = fleet
        self._clock = clock

    async def hear(self, key: JobKey) -> float | None:
        """Tell the fleet what hinders a driver's container; the seconds after which to ask again, if it is not made."""
        driver = self._fleet.driver(key)
        if driver is None or driver.deleting or driver.is_over or not driver.is_being_made:
            return None
        age = self._clock.now() - driver.created
        if age < SOON:
            return (SOON - age).total_seconds()
        try:
            self._fleet.hinder(key, driver.uid, await self._hindrance(key, driver))
        except (NotAllowed, ClusterUnavailable) as error:
            log.info("cannot read why the driver's container is not made: %s", error)
        return AGAIN

    async def _hindrance(self, key: JobKey, driver: DriverPod) -> tuple[str, str] | None:
        fields = f"involvedObject.uid={driver.uid}"
        return newest_warning(
            [event async for event in self._cluster.each(EVENTS, key.namespace, fields=fields)]
        )
