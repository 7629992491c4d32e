"""The checker beside a job that goes on."""

import json
from argparse import Namespace
from collections.abc import Iterator

import pytest

from jobs.load import check, events, topics


class Record:
    """A message of Kafka."""

    def __init__(self, fields: events.Fields) -> None:
        self._fields = fields

    def value(self) -> str:
        return json.dumps(self._fields)

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class Flow:
    """Records that go through a job at once: one more each time that a topic was read."""

    def __init__(self) -> None:
        self.count = 3

    def reader(self, _servers: str, _topic: str) -> "Reader":
        return Reader(self)


class Reader:
    """Reads what has gone through since it read last, of either topic: the job changes nothing."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._known = 0

    def read_new(self) -> Iterator[Record]:
        first, self._known = self._known, self._flow.count
        self._flow.count += 1
        for number in range(first, self._known):
            yield Record(events.make_event("enrichment", 1, number, 0).fields)


def test_what_goes_through_the_job_meanwhile_lacks_for_now_and_is_not_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topics, "TopicReader", Flow().reader)
    options = Namespace(
        bootstrap_servers="kafka:9092",
        job="enrichment",
        input_topic="in",
        output_topic="out",
        window=10.0,
    )
    account = check.Check(options).update()
    assert (account.unknown, account.missing, account.expected) == (0, 1, 4)
