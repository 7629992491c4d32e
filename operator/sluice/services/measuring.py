"""Ask Prometheus about all jobs together, and keep what it told of each.

A handful of questions, whatever the number of jobs: two for each window that objectives are declared over, two for
each minute in which jobs were made whose name had a job before, and two more. Prometheus' recording rules have done
the arithmetic of each minute (charts/sluice/rules/recording.yaml).
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from sluice.core.application import JobKey
from sluice.core.measurement import NOT_CONFIGURED, NOT_YET_ASKED, Measurement, Unmeasured
from sluice.core.objectives.budget import SLICE, window_of
from sluice.core.quantities import duration
from sluice.errors import MetricsUnavailable
from sluice.manifests.moments import read_moment
from sluice.ports import Clock, Labelled, Metrics
from sluice.services.fleet import Fleet

log = logging.getLogger(__name__)

EVERY = 30.0
"""Seconds between two rounds; the recorded minutes change no faster than that."""

_GOOD_MINUTES = 'job:sluice_slo_good:slice{{sli="all"{where}}}[{seconds:.0f}s]'

_BY = "max by (namespace, job)"

Values = Mapping[JobKey, float]


class Measuring:
    """The newest measurement of each job; without a metrics' server, why there is none."""

    def __init__(
        self, metrics: Metrics | None, fleet: Fleet, clock: Clock, *, namespaces: Sequence[str] = ()
    ) -> None:
        self._metrics = metrics
        self._fleet = fleet
        self._clock = clock
        self._where = f',namespace=~"{"|".join(namespaces)}"' if namespaces else ""
        self._has_begun = asyncio.Event()
        self._told: Mapping[JobKey, Measurement] = {}
        self._trouble = NOT_CONFIGURED if metrics is None else NOT_YET_ASKED
        self._blank: Measurement | None = None

    def of(self, key: JobKey) -> Measurement | Unmeasured:
        """What is known of a job."""
        if self._blank is None:
            return self._trouble
        return self._told.get(key, self._blank)

    def begin(self) -> None:
        """The jobs are known: what is asked before would leave out the windows of their objectives."""
        self._has_begun.set()

    async def run(self) -> None:
        """Ask from the beginning until cancelled; a server that does not answer is asked again."""
        if self._metrics is None:
            return
        await self._has_begun.wait()
        while True:
            await self.ask(self._metrics)
            await asyncio.sleep(EVERY)

    async def ask(self, metrics: Metrics) -> None:
        """One round. If any question is not answered, nothing is told: half an answer would look like a gap."""
        try:
            self._told, self._blank = await self._round(metrics)
        except MetricsUnavailable as error:
            if self._trouble.message != str(error):
                log.warning("%s", error)
            self._told, self._blank = {}, None
            self._trouble = Unmeasured("PrometheusUnavailable", f"{error}.")

    async def _round(self, metrics: Metrics) -> tuple[Mapping[JobKey, Measurement], Measurement]:
        # The answer's own time tells the server's clock.
        clock = await metrics.now("vector(1)")
        if not clock:
            raise MetricsUnavailable("Prometheus answers, but not to the query vector(1)")
        at = clock[0].samples[-1][0]
        ahead = at - self._clock.now()
        selector = f"{{{self._where.removeprefix(',')}}}"
        scraped = _values(await metrics.now(f"{_BY} (timestamp(sluice_agent_info{selector}))"))
        recent = await metrics.now(
            "max by (namespace, job, sli) (avg_over_time("
            f'job:sluice_slo_good:slice{{sli!="all"{self._where}}}[5m]))'
        )
        good, known = await self._minutes(metrics, self._windows())
        lives = self._lives(known, at - ahead)
        for key in (key for keys in lives.values() for key in keys):
            # These are minutes of the job that had its name before, too.
            del known[key]
            good.pop(key, None)
        own_good, own_known = await self._minutes(metrics, lives)
        good, known = good | own_good, known | own_known
        indicators = _by_indicator(recent)
        told = {
            key: Measurement(
                at=at,
                ahead=ahead,
                scraped=_moment(scraped.get(key), at),
                good=good.get(key),
                known=known.get(key),
                recent=indicators.get(key, {}),
            )
            for key in scraped.keys() | good.keys() | indicators.keys()
        }
        return told, Measurement(at=at, ahead=ahead)

    async def _minutes(
        self, metrics: Metrics, windows: Mapping[timedelta, set[JobKey]]
    ) -> tuple[dict[JobKey, float], dict[JobKey, float]]:
        """The good minutes of each window, and the known ones."""
        good: dict[JobKey, float] = {}
        known: dict[JobKey, float] = {}
        for window, keys in windows.items():
            minutes = _GOOD_MINUTES.format(where=self._where, seconds=window.total_seconds())
            good |= _of(keys, await metrics.now(f"{_BY} (sum_over_time({minutes}))"))
            known |= _of(keys, await metrics.now(f"{_BY} (count_over_time({minutes}))"))
        return good, known

    def _lives(self, known: Values, now: datetime) -> Mapping[timedelta, set[JobKey]]:
        """How long the jobs are there of which more minutes are known than that."""
        lives: dict[timedelta, set[JobKey]] = {}
        for key, minutes in known.items():
            resource = self._fleet.job(key)
            created = resource and read_moment(resource["metadata"].get("creationTimestamp"))
            # The first and the last minute may both be begun only.
            if created and minutes > (now - created) / SLICE + 1:
                lived = max(1, (now - created) // SLICE) * SLICE
                lives.setdefault(lived, set()).add(key)
        return lives

    def _windows(self) -> Mapping[timedelta, set[JobKey]]:
        """The jobs that declare an objective, by its window."""
        windows: dict[timedelta, set[JobKey]] = {}
        for key in self._fleet:
            resource = self._fleet.job(key)
            slo = resource["spec"].get("slo") if resource is not None else None
            if slo:
                windows.setdefault(_window(slo.get("window", "28d")), set()).add(key)
        return windows


def _window(text: str) -> timedelta:
    try:
        return window_of(duration(text))
    except ValueError:
        # Stored under other rules; the job's spec is told to be invalid, and this number is not shown.
        return timedelta(days=28)


def _values(series: Sequence[Labelled]) -> Values:
    return {key: one.samples[-1][1] for key, one in _keyed(series)}


def _of(keys: set[JobKey], series: Sequence[Labelled]) -> Values:
    return {key: value for key, value in _values(series).items() if key in keys}


def _by_indicator(series: Sequence[Labelled]) -> Mapping[JobKey, Mapping[str, float]]:
    found: dict[JobKey, dict[str, float]] = {}
    for key, one in _keyed(series):
        found.setdefault(key, {})[one.labels.get("sli", "")] = one.samples[-1][1]
    return found


def _keyed(series: Sequence[Labelled]) -> Iterator[tuple[JobKey, Labelled]]:
    """Series that name a job; others are somebody else's."""
    for one in series:
        if "namespace" in one.labels and "job" in one.labels:
            yield JobKey(one.labels["namespace"], one.labels["job"]), one


def _moment(seconds: float | None, at: datetime) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, at.tzinfo)
