"""When a job is told that its tasks wait for rows."""

from dataclasses import replace

import pytest

from sluice.core import quietness
from sluice.core.learning.batches import BatchReport
from sluice.core.modelling.fetching import Fetching
from tests.support.jobs import NOW, query, report

BATCH = BatchReport(start=NOW.timestamp(), seconds=2.0, rows=96, executors=2)
QUIET = query(
    batches=(BATCH,) * 5, fetching=Fetching(partitions=12, longest=0.5), arrival_rate=24.0
)


def test_the_first_query_is_told_whose_batches_are_a_third_of_waiting_or_more() -> None:
    other = replace(QUIET, name="orders", batches=(replace(BATCH, seconds=4.5),) * 5)
    busy = replace(QUIET, name="busy", batches=(replace(BATCH, seconds=4.6),) * 5)
    assert "'orders'" in quietness.told(report(busy, other, QUIET), 1)
    assert quietness.told(report(busy), 1) == ""


def test_one_long_batch_among_the_last_says_nothing() -> None:
    long = replace(QUIET, batches=(BATCH, BATCH, BATCH, BATCH, replace(BATCH, seconds=60.0)))
    assert quietness.told(report(long), 1) != ""


def test_a_wait_of_less_than_a_second_is_not_worth_a_word() -> None:
    short = replace(QUIET, batches=(replace(BATCH, seconds=0.8),) * 5)
    assert quietness.told(report(short), 1) != "", "1.5 s on two slots, of which all of 0.8 s"
    assert quietness.told(report(short), 4) == "", "0.5 s on eight"


@pytest.mark.parametrize(
    "changes",
    [
        {"fetching": None},
        {"arrival_rate": None},
        {"left_rows": 10.0},
        {"active": False},
        {"batches": ()},
    ],
)
def test_where_nothing_is_known_of_waiting_none_is_told(changes: dict[str, object]) -> None:
    assert quietness.told(report(replace(QUIET, **changes)), 1) == ""  # type: ignore[arg-type]  # fields of it


def test_no_more_is_told_than_a_batch_has() -> None:
    short = replace(QUIET, batches=(replace(BATCH, seconds=1.2),) * 5)
    assert "Of the 1.2 s of a batch of query 'clicks', tasks wait for about 1.2 s" in (
        quietness.told(report(short), 1)
    )
