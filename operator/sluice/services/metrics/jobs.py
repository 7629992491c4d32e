"""What the operator has seen of each job, as metrics that are made when they are asked for.

Thousands of jobs have a hundred thousand series. Kept as gauges they would take more memory than all the rest of
the operator; read from the fleet, one metric after the other, they take none between two scrapes. They tell what the
status says, so a scrape and `kubectl get` agree.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from sluice.catalogue import agent
from sluice.catalogue import operator as catalogue
from sluice.catalogue.metric import Metric, Type
from sluice.core.application import JobKey
from sluice.core.objectives.indicators import weights
from sluice.core.quantities import duration
from sluice.core.record import Phase
from sluice.manifests.profiling.labelling import profile_uid
from sluice.services.courses import Course
from sluice.services.fleet import Fleet
from sluice.services.metrics import scaling
from sluice.services.metrics.scaling import Labelled

Family = CounterMetricFamily | GaugeMetricFamily
UNSEEN = "Unseen"
"""The phase of a job that has no status yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One job: its resource as last seen, how many executors run, and what is known of it if it is scaled."""

    resource: Mapping[str, Any]
    executors_running: int
    course: Course | None = None

    @property
    def phase(self) -> str:
        """The phase that its status tells."""
        phase: str = self.status.get("phase", UNSEEN)
        return phase

    @property
    def status(self) -> Mapping[str, Any]:
        """Its status; empty before the first look."""
        status: Mapping[str, Any] = self.resource.get("status") or {}
        return status

    def declared(self, *path: str) -> Any:
        """A field of its spec, None if it is not there; the API server has filled in the defaults."""
        return _find(self.resource["spec"], path)

    def told(self, *path: str) -> Any:
        """A field of its status, None if it is not there."""
        return _find(self.status, path)


class JobsCollector(Collector):
    """The metrics of all jobs, from the process that leads: two that tell the same would count double."""

    def __init__(self, fleet: Fleet, course: Callable[[JobKey], Course | None]) -> None:
        """`course` gives what is known of a job that is scaled."""
        self._fleet = fleet
        self._course = course
        self.leads = False

    def collect(self) -> Iterator[Family]:
        """One metric at a time, so that only its samples are in memory together."""
        if not self.leads:
            return
        yield self._by_phase()
        for metric, read in _READERS:
            yield self._family(metric, read)
        for metric, read_course in scaling.READERS:
            yield self._family(metric, _scaled(read_course))

    def describe(self) -> Iterator[Family]:
        """All names, for the registry's check against duplicates."""
        yield _empty(catalogue.JOBS)
        for metric, _ in (*_READERS, *scaling.READERS):
            yield _empty(metric)

    def _by_phase(self) -> Family:
        family = _empty(catalogue.JOBS)
        counts = Counter(view.phase for _, view in self._views())
        for phase in (UNSEEN, *Phase):
            family.add_metric([phase], counts[phase])
        return family

    def _family(self, metric: Metric, read: Callable[[View], Iterator[Labelled]]) -> Family:
        family = _empty(metric)
        for key, view in self._views():
            for labels, value in read(view):
                if value is not None:
                    family.add_metric([key.namespace, key.name, *labels], value)
        return family

    def _views(self) -> Iterator[tuple[JobKey, View]]:
        for key in self._fleet:
            resource = self._fleet.job(key)
            # Copies that are profiled have promised nothing, and nobody is to be woken for one.
            if resource is not None and profile_uid(resource) is None:
                running = self._fleet.executors_running(key)
                course = self._course(key)
                yield key, View(resource=resource, executors_running=running, course=course)


def _moment(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None


@lru_cache(maxsize=1024)
def _seconds(text: str | None) -> float | None:
    """A declared duration; one that was stored under other rules is not known."""
    try:
        return duration(text).total_seconds() if text else None
    except ValueError:
        return None


def _one(read: Callable[[View], float | None]) -> Callable[[View], Iterator[Labelled]]:
    """A metric with no labels but the job's."""
    return lambda view: iter([((), read(view))])


def _scaled(
    read: Callable[[Course], Iterator[Labelled]],
) -> Callable[[View], Iterator[Labelled]]:
    """A metric of the jobs that are scaled."""
    return lambda view: read(view.course) if view.course is not None else iter(())


def _phase(view: View) -> Iterator[Labelled]:
    yield (view.phase,), 1.0


def _conditions(view: View) -> Iterator[Labelled]:
    for condition in view.status.get("conditions", ()):
        value = {"True": 1.0, "False": 0.0}.get(condition["status"])
        yield (condition["type"],), value


def _last_recovery(view: View) -> Iterator[Labelled]:
    past = view.told("recoveries", "past")
    if past:
        for stage in ("detection", "container", "session", "firstBatch", "caughtUp"):
            drill = "yes" if past[-1].get("drilled") else "no"
            yield (past[-1]["cause"], drill, stage), past[-1].get(stage)


def _bucket_weights(view: View) -> Iterator[Labelled]:
    bound = _seconds(view.declared("slo", "latency", "bound"))
    if bound is not None:
        for limit, weight in weights(agent.RECORD_LATENCY.buckets, bound):
            yield (repr(limit),), weight


_READERS: tuple[tuple[Metric, Callable[[View], Iterator[Labelled]]], ...] = (
    (catalogue.PHASE, _phase),
    (catalogue.CONDITION, _conditions),
    (catalogue.CREATED, _one(lambda view: _moment(view.resource["metadata"]["creationTimestamp"]))),
    (catalogue.DRIVER_STARTS, _one(lambda view: view.told("incarnation"))),
    (catalogue.FAILURES_IN_A_ROW, _one(lambda view: view.told("failures", "inARow"))),
    (catalogue.RECOVERIES, _one(lambda view: view.told("recoveries", "count") or 0)),
    (catalogue.RECOVERY, _last_recovery),
    (catalogue.LAST_COMMIT, _one(lambda view: _moment(view.told("checkpoint", "committedAt")))),
    (catalogue.EXECUTORS_WANTED, _one(lambda view: view.told("executors", "wanted"))),
    (catalogue.EXECUTORS_RUNNING, _one(lambda view: view.executors_running)),
    (catalogue.EXECUTORS_DESIRED, _one(lambda view: view.told("decision", "wanted"))),
    (catalogue.EXECUTORS_DECIDED, _one(lambda view: view.told("decision", "executors"))),
    (catalogue.EXPECTED_LATENCY, _one(lambda view: view.told("decision", "expectedLatency"))),
    (catalogue.LIKELY_RECOVERY, _one(lambda view: view.told("decision", "likelyRecovery"))),
    (catalogue.EXPECTED_RECOVERY, _one(lambda view: view.told("decision", "expectedRecovery"))),
    (catalogue.SLO_OBJECTIVE, _one(lambda view: view.declared("slo", "objective"))),
    (catalogue.SLO_WINDOW, _one(lambda view: _seconds(view.declared("slo", "window")))),
    (
        catalogue.SLO_LATENCY_BOUND,
        _one(lambda view: _seconds(view.declared("slo", "latency", "bound"))),
    ),
    (
        catalogue.SLO_LATENCY_SHARE,
        _one(lambda view: view.declared("slo", "latency", "percentile")),
    ),
    (catalogue.SLO_LATENCY_WEIGHT, _bucket_weights),
    (
        catalogue.SLO_THROUGHPUT,
        _one(lambda view: view.declared("slo", "throughput", "minimum")),
    ),
    (
        catalogue.SLO_FRESHNESS_BOUND,
        _one(lambda view: _seconds(view.declared("slo", "freshness", "bound"))),
    ),
    (
        catalogue.RECOVERY_TARGET,
        _one(lambda view: _seconds(view.declared("recovery", "target"))),
    ),
)


def _empty(metric: Metric) -> Family:
    kind = CounterMetricFamily if metric.type is Type.COUNTER else GaugeMetricFamily
    return kind(metric.name, metric.meaning, labels=metric.labels)


def _find(document: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = document
    for name in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found
