"""The checker's account finds each kind of fault, and only that."""

import json
from collections.abc import Iterable

import pytest

from jobs.load import accounts
from jobs.load.events import Fields
from jobs.load.latency import Latencies

NUMBERED: accounts.Expected = {number: f"key-{number}" for number in range(10)}
WINDOWED: accounts.Expected = {("campaign-1", 0): 5, ("campaign-1", 10_000): 7}


def observe(
    rows: Iterable[tuple[accounts.Identity, accounts.Value]], *, windowed: bool = False
) -> accounts.Observed:
    observed = accounts.Observed(windowed=windowed)
    for identity, value in rows:
        observed.add(identity, value)
    return observed


def test_every_record_once_is_right() -> None:
    account = accounts.compare(NUMBERED, observe(list(NUMBERED.items())))
    assert account.is_right
    assert (account.expected, account.distinct, account.duplicates) == (10, 10, 0)


def test_where_nothing_was_sent_nothing_is_right() -> None:
    account = accounts.compare({}, observe([]))
    assert not account.is_complete
    assert not account.is_right


def test_lost_records_are_counted_and_shown_as_ranges() -> None:
    rows = [(number, value) for number, value in NUMBERED.items() if number not in {2, 3, 4, 9}]
    account = accounts.compare(NUMBERED, observe(rows))
    assert not account.is_complete
    assert account.missing == 4
    assert account.missing_ranges == [[2, 4], [9]]


def test_a_record_that_came_twice_is_a_duplicate_and_nothing_else() -> None:
    account = accounts.compare(NUMBERED, observe([*NUMBERED.items(), (3, "key-3"), (3, "key-3")]))
    assert account.is_right
    assert account.duplicates == 2


def test_a_record_with_another_value_is_wrong_even_when_the_right_one_came_too() -> None:
    account = accounts.compare(NUMBERED, observe([*NUMBERED.items(), (3, "key-4")]))
    assert not account.is_complete
    assert account.wrong == 1


def test_a_record_that_was_never_sent_is_unknown() -> None:
    account = accounts.compare(NUMBERED, observe([*NUMBERED.items(), (10, "key-10")]))
    assert account.is_complete
    assert not account.is_right
    assert account.unknown_examples == [10]


def test_later_counts_of_a_window_replace_earlier_ones_and_repeated_batches_do_no_harm() -> None:
    rows: list[tuple[accounts.Identity, accounts.Value]] = [
        (("campaign-1", 0), 3),
        (("campaign-1", 0), 5),
        (("campaign-1", 10_000), 7),
        (("campaign-1", 0), 3),
    ]
    account = accounts.compare(WINDOWED, observe(rows, windowed=True))
    assert account.is_right
    assert account.duplicates == 0


@pytest.mark.parametrize("count", [4, 6])
def test_a_window_that_counts_a_record_less_or_twice_is_wrong(count: int) -> None:
    rows: list[tuple[accounts.Identity, accounts.Value]] = [
        (("campaign-1", 0), count),
        (("campaign-1", 10_000), 7),
    ]
    account = accounts.compare(WINDOWED, observe(rows, windowed=True))
    assert not account.is_complete
    assert account.wrong_examples == [f"('campaign-1', 0): {count}, not 5"]


def test_the_account_of_windows_can_be_written_as_json() -> None:
    account = accounts.compare(WINDOWED, observe([], windowed=True))
    assert json.loads(json.dumps(account.missing_ranges)) == [
        [["campaign-1", 0]],
        [["campaign-1", 10_000]],
    ]


def test_views_are_expected_with_their_campaign_and_other_events_are_not() -> None:
    view: Fields = {
        "ad_id": "ad-15",
        "event_type": "view",
        "event_time": 12_345,
        "sequence": 1,
    }
    click: Fields = {**view, "event_type": "click", "sequence": 2}
    expected: dict[str, accounts.Expected] = {"advertisement": {}, "advertisement-passthrough": {}}
    for name, into in expected.items():
        for event in (view, click, {**view, "sequence": 3}):
            accounts.JOBS[name].expect(event, 10_000, into)
    assert expected["advertisement-passthrough"] == {1: "campaign-1", 3: "campaign-1"}
    assert expected["advertisement"] == {("campaign-1", 10_000): 2}


def test_the_top_speed_of_a_window_is_expected() -> None:
    expected: accounts.Expected = {}
    for speed, time in ((90.0, 1000), (120.5, 9999), (70.0, 10_000)):
        accounts.JOBS["top-speed"].expect(
            {"car_id": "car-1", "speed": speed, "event_time": time}, 10_000, expected
        )
    assert expected == {("car-1", 0): 120.5, ("car-1", 10_000): 70.0}


def test_holes_and_repetitions_of_the_input_are_told() -> None:
    assert accounts.numbering_faults([0, 1, 1, 4]) == {"records": 4, "holes": 2, "repeated": 1}


def test_percentiles_are_values_that_occurred() -> None:
    latencies = Latencies(values=list(range(100, 0, -1)))
    assert latencies.summary() == {"p50": 50, "p95": 95, "p99": 99, "max": 100}
    assert Latencies().summary() == {}
