"""What profiles under way take, as metrics that are made when they are asked for."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sluice.catalogue import operator as catalogue
from sluice.catalogue.metric import Metric
from sluice.core.application import JobKey
from sluice.core.profiling.records import Profile
from sluice.services.profiles import Profiles


class ProfilesCollector(Collector):
    """The metrics of all profiles under way, from the process that leads."""

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles
        self.leads = False

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """What each has taken, by its status, and what it may take."""
        if not self.leads:
            return
        spent, budget = map(_empty, catalogue.PROFILE_METRICS)
        for key in self._profiles.under_way():
            profile = self._profiles.declared(key)
            assert isinstance(profile, Profile), "an invalid one is not under way"
            labels = [key.namespace, profile.job.name, key.name]
            spent.add_metric(labels, self._spent(key))
            budget.add_metric(labels, profile.allowance.core_seconds)
        yield from (spent, budget)

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """All names, for the registry's check against duplicates."""
        return map(_empty, catalogue.PROFILE_METRICS)

    def _spent(self, key: JobKey) -> float:
        status = (self._profiles.resource(key) or {}).get("status") or {}
        return float(status.get("spent", {}).get("coreSeconds", 0.0))


def _empty(metric: Metric) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
