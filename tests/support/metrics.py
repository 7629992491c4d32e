"""A metrics' server that answers what a test gives it."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sluice.errors import MetricsUnavailable
from sluice.ports import Labelled
from tests.support.jobs import NOW

MOST_SAMPLES = 11_000
"""Of a series in one answer, as Prometheus has it."""


class MemoryMetrics:
    """Answers each query that contains a key with its series."""

    def __init__(self, answers: Mapping[str, list[Labelled]], at: datetime = NOW) -> None:
        self.answers = {"vector(1)": [Labelled({}, ((at, 1.0),))], **answers}
        self.asked: list[str] = []
        self.is_away = False

    async def now(self, query: str) -> list[Labelled]:
        """The series of the first key that fits."""
        if self.is_away:
            raise MetricsUnavailable("nobody there")
        self.asked.append(query)
        return next((told for key, told in self.answers.items() if key in query), [])

    async def history(
        self, query: str, start: datetime, end: datetime, step: timedelta
    ) -> list[Labelled]:
        """The same, from start to end."""
        if (end - start) / step > MOST_SAMPLES:
            raise MetricsUnavailable("more samples than a server gives at once")
        return [_within(one, start, end) for one in await self.now(query)]


def _within(one: Labelled, start: datetime, end: datetime) -> Labelled:
    return Labelled(
        one.labels, tuple(sample for sample in one.samples if start <= sample[0] <= end)
    )
