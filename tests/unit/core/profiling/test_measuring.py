"""What the batches of a copy tell of its capacity, and how certain that is."""

import random
from dataclasses import replace

import pytest

from sluice.core.learning.batches import BatchReport
from sluice.core.profiling.measuring import ENOUGH, LONG_ENOUGH, SETTLING, Batches, is_certain
from tests.support.jobs import query, report
from tests.unit.core.profiling.profiles import batch, told

RATE, OVERHEAD = 2000.0, 0.4


def of_rows(*rows: float, noise: float = 0.0, **changes: object) -> list[BatchReport]:
    """Batches one after the other, as long as their rows make them."""
    """After one that is long enough for all others to count."""
    chance, made = random.Random(7), [batch(100.0, SETTLING, 1, **changes)]
    start = made[0].end
    for number in rows:
        seconds = (OVERHEAD + number / RATE) * (1 + chance.gauss(0, noise))
        made.append(batch(start, seconds, number, **changes))
        start += seconds
    return made


SIZES = (4000, 16000) * 7


def test_batches_of_two_sizes_tell_the_capacity_beyond_the_overhead() -> None:
    found = Batches().with_report(told(of_rows(*SIZES))).reading(2)
    assert found is not None
    assert found.rate == pytest.approx(RATE, rel=0.02)
    assert found.overhead == pytest.approx(OVERHEAD, rel=0.1)
    assert not found.is_lower_bound
    assert is_certain(found)


def test_the_truth_is_mostly_within_two_standard_errors() -> None:
    errors = []
    for noise in (0.02, 0.05, 0.1):
        found = Batches().with_report(told(of_rows(*SIZES, noise=noise))).reading(2)
        assert found is not None
        assert abs(found.rate - RATE) < 2 * found.error
        errors.append(found.error)
    assert errors == sorted(errors)


def test_cold_batches_and_those_on_other_executors_do_not_count() -> None:
    slow = [batch(0, 30, 5000, cold=True), batch(30, 9, 5000, executors=1)]
    warm = [replace(one, start=40 + one.start) for one in of_rows(*SIZES)]
    found = Batches().with_report(told([*slow, *warm])).reading(2)
    assert found is not None
    assert found.batches <= len(SIZES)
    assert found.rate == pytest.approx(RATE, rel=0.02)


def test_too_few_batches_are_not_certain() -> None:
    found = Batches().with_report(told(of_rows(4000, 16000, 4000, 16000))).reading(2)
    assert found is not None
    assert found.batches < ENOUGH
    assert not is_certain(found)


def test_enough_batches_that_were_over_too_soon_are_not_certain() -> None:
    found = Batches().with_report(told(of_rows(*[400, 1600] * 10))).reading(2)
    assert found is not None
    assert found.batches >= ENOUGH
    assert found.seconds < LONG_ENOUGH
    assert not is_certain(found)


def test_batches_of_executors_that_still_get_faster_are_left_out() -> None:
    batches = of_rows(*SIZES)
    slow = [replace(one, seconds=1.3 * one.seconds) for one in batches[:5]]
    found = Batches().with_report(told([*slow, *batches[5:]])).reading(2)
    assert found is not None
    assert found.rate == pytest.approx(RATE, rel=0.02)


def test_without_a_warm_batch_nothing_is_read() -> None:
    assert Batches().reading(2) is None
    assert Batches().with_report(told(of_rows(4000, cold=True))).reading(2) is None


def test_batches_of_one_size_give_a_lower_bound_because_their_overhead_is_unknown() -> None:
    found = Batches().with_report(told(of_rows(*[8000] * 8))).reading(2)
    assert found is not None
    assert found.is_lower_bound
    assert found.rate == pytest.approx(8000 / (OVERHEAD + 8000 / RATE), rel=0.01)
    assert not is_certain(found)


def test_batches_are_counted_once_however_often_they_are_told() -> None:
    batches = of_rows(*SIZES)
    found = Batches()
    for upto in (3, 3, 5, len(batches)):
        found = found.with_report(told(batches[:upto]))
    assert found.saturated == tuple(batches)


def test_another_driver_begins_anew() -> None:
    found = Batches().with_report(told(of_rows(*SIZES)))
    again = report(query(batches=(batch(0, 1, 100),), left_rows=1e6), incarnation=2)
    assert len(found.with_report(again).saturated) == 1


def test_a_backlog_that_ends_after_enough_batches_does_no_harm() -> None:
    batches = of_rows(*SIZES)
    found = Batches().with_report(told(batches))
    found = found.with_report(told([*batches, batch(500, 2, 10)], waiting=0.0))
    reading = found.reading(2)
    assert reading is not None
    assert reading.is_dry
    assert not reading.is_lower_bound
    assert reading.rate == pytest.approx(RATE, rel=0.02)


def test_a_backlog_that_ends_too_early_leaves_a_lower_bound() -> None:
    found = Batches().with_report(told(of_rows(4000, 300, 200, 100), waiting=0.0)).reading(2)
    assert found is not None
    assert found.is_dry
    assert found.is_lower_bound
    assert found.rate < RATE


def test_a_backlog_that_ends_while_executors_still_get_faster_leaves_a_lower_bound() -> None:
    found = Batches().with_report(told(of_rows(*SIZES)[1:7]))
    found = found.with_report(told([batch(500, 2, 10)], waiting=0.0))
    reading = found.reading(2)
    assert reading is not None
    assert reading.is_lower_bound
    assert reading.rate == pytest.approx(RATE, rel=0.02)


def test_rows_that_are_fewer_than_a_batch_may_have_are_no_backlog() -> None:
    found = Batches().with_report(told(of_rows(*SIZES), waiting=3000.0, most_rows=16000.0))
    assert found.is_dry


def test_while_nobody_knows_how_many_rows_wait_batches_are_kept_for_later() -> None:
    batches = of_rows(*SIZES)
    unknown = Batches().with_report(told(batches, waiting=None))
    assert unknown.reading(2) is None
    assert unknown.with_report(told(batches)).reading(2) is not None


def test_a_program_whose_own_work_was_left_out_gives_an_upper_bound() -> None:
    found = Batches().with_report(told(of_rows(*SIZES), profile="lowerBound")).reading(2)
    assert found is not None
    assert found.is_upper_bound


def test_while_a_query_is_in_its_first_batch_the_others_tell_neither_a_rate_nor_that_all_is_read() -> (
    None
):
    small = query(name="rates", batches=tuple(of_rows(*SIZES)), left_rows=0.0)
    big = query(name="orders", committed_at=None, batch_id=None, left_rows=None, backlog_rows=None)
    begun = Batches().with_report(report(small, big))
    assert not begun.is_dry
    assert begun.reading(2) is None

    for settled in (replace(big, is_idle=True), replace(big, active=False)):
        found = begun.with_report(report(small, settled))
        assert found.is_dry
        assert found.reading(2) is not None
