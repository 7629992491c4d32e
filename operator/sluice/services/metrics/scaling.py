"""What is told of a job that is scaled beyond its status: how often it was decided about, and what was foreseen.

It is known since this process leads; counters begin again with the next one.
"""

from collections.abc import Callable, Iterator

from sluice.catalogue import operator as catalogue
from sluice.catalogue.metric import Metric
from sluice.core.foreseen import Band
from sluice.services.courses import Course

Labelled = tuple[tuple[str, ...], float | None]


def _decisions(course: Course) -> Iterator[Labelled]:
    # The loop may count while a scrape reads.
    yield from dict(course.tally.decisions).items()


def _rescales(course: Course) -> Iterator[Labelled]:
    for path, count in dict(course.tally.rescales).items():
        yield (str(path),), count


def _judged(course: Course) -> Iterator[Labelled]:
    for outcome, count in dict(course.tally.judged).items():
        yield (str(outcome),), count


def _forecast(course: Course) -> Iterator[Labelled]:
    return _band(course.foreseen.load)


def _capacity(course: Course) -> Iterator[Labelled]:
    return _band(course.foreseen.capacity)


def _band(band: Band | None) -> Iterator[Labelled]:
    if band is not None:
        yield ("rate",), band.rate
        yield ("low",), band.low
        yield ("high",), band.high


def _predicted(course: Course) -> Iterator[Labelled]:
    yield (), course.predicted_recovery


READERS: tuple[tuple[Metric, Callable[[Course], Iterator[Labelled]]], ...] = (
    (catalogue.DECISIONS, _decisions),
    (catalogue.RESCALES, _rescales),
    (catalogue.RESCALES_JUDGED, _judged),
    (catalogue.FORECAST, _forecast),
    (catalogue.CAPACITY, _capacity),
    (catalogue.PREDICTED_RECOVERY, _predicted),
)
