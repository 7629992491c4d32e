"""Counters and clocks of the operator's process, fed where things happen."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from sluice import __version__
from sluice.catalogue import operator as catalogue
from sluice.catalogue.metric import Metric, Type


class Instruments:
    """What is measured of this process, in a registry of its own."""

    def __init__(self, started: datetime) -> None:
        # Else each counter has a second series that says when it began, which nobody reads.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no types there
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._gauge(catalogue.INFO).labels(__version__).set(1)
        self.leader = self._gauge(catalogue.LEADER)
        self.queues = self._gauge(catalogue.QUEUE_LENGTH)
        self._durations = self._histogram(catalogue.RECONCILE_DURATION)
        self._errors = self._counter(catalogue.RECONCILE_ERRORS)
        self._requests = self._counter(catalogue.API_REQUESTS)
        self._request_durations = self._histogram(catalogue.API_DURATION)
        self._last_event = self._gauge(catalogue.LAST_WATCH_EVENT)
        # A process that has never heard anything is deaf since its start, not since 1970.
        self.event_seen(started)

    @contextmanager
    def reconciling(self) -> Iterator[None]:
        """Measure one look at a job."""
        with self._durations.time():
            try:
                yield
            except Exception as error:
                self._errors.labels(type(error).__name__).inc()
                raise

    @contextmanager
    def requesting(self, verb: str, resource: str) -> Iterator[None]:
        """Measure one request to the Kubernetes API."""
        result = "ok"
        with self._request_durations.labels(verb).time():
            try:
                yield
            except Exception as error:
                result = type(error).__name__
                raise
            finally:
                self._requests.labels(verb, resource, result).inc()

    def event_seen(self, now: datetime) -> None:
        """A watch has brought something."""
        self._last_event.set(now.timestamp())

    def _counter(self, metric: Metric) -> Counter:
        return Counter(metric.name, metric.meaning, metric.labels, registry=self.registry)

    def _gauge(self, metric: Metric) -> Gauge:
        return Gauge(metric.name, metric.meaning, metric.labels, registry=self.registry)

    def _histogram(self, metric: Metric) -> Histogram:
        assert metric.type is Type.HISTOGRAM
        return Histogram(
            metric.name,
            metric.meaning,
            metric.labels,
            registry=self.registry,
            buckets=metric.buckets,
        )
