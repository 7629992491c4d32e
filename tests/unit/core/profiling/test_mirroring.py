"""What a copy on the live stream tells of its latency, and whether it keeps up."""

import random
from dataclasses import replace
from typing import Any

import pytest

from sluice.core.learning.batches import BatchReport
from sluice.core.observations import AgentReport
from sluice.core.profiling.measuring import ENOUGH, LONG_ENOUGH, SETTLING
from sluice.core.profiling.mirroring import Mirror, is_certain
from sluice.core.profiling.records import LiveReading, Percentiles
from tests.support.jobs import NOW, query
from tests.unit.core.profiling.profiles import batch, told

ARRIVING, OVERHEAD = 1000.0, 1.0
LATENCY = {"p50": 0.5, "p95": 2.0, "p99": 3.0}


def live(batches: list[BatchReport], *, lag: float = 0.0, **changes: Any) -> AgentReport:
    """What a copy's agent tells of these batches, with so many rows that the last of them left."""
    known = {"arrival_rate": ARRIVING, "latency": LATENCY, "latency_window": 60.0, **changes}
    return told(batches, waiting=lag, **known)


def batches_of(
    capacity: float, seconds: float, *, noise: float = 0.0, **changes: Any
) -> list[BatchReport]:
    """Batches one after the other, each with the rows that arrived during the one before, the first cold."""
    chance, made = random.Random(7), [batch(0.0, 6.0, 2 * ARRIVING, cold=True)]
    while made[-1].end < seconds:
        rows = ARRIVING * made[-1].seconds
        length = (OVERHEAD + rows / capacity) * (1 + chance.gauss(0, noise))
        made.append(batch(made[-1].end, length, rows, **changes))
    return made


def mirrored(batches: list[BatchReport], **changes: Any) -> Mirror:
    """A copy that was asked after each of its batches."""
    found = Mirror()
    for upto in range(1, len(batches) + 1):
        found = found.with_report(live(batches[:upto], **changes))
    return found


def reading(of: Mirror, executors: int = 2) -> LiveReading:
    found = of.reading(executors)
    assert found is not None
    return found


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2])
def test_a_copy_that_keeps_up_tells_the_agents_latencies_and_the_load(noise: float) -> None:
    found = reading(mirrored(batches_of(1500.0, 240.0, noise=noise)))
    assert found.keeps_up
    assert found.latency == Percentiles(p50=0.5, p95=2.0, p99=3.0)
    assert found.arriving == ARRIVING
    assert is_certain(found)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("capacity", [250.0, 500.0, 700.0, 800.0])
def test_a_copy_whose_batches_become_longer_and_longer_does_not_keep_up(
    capacity: float, noise: float
) -> None:
    found = reading(mirrored(batches_of(capacity, 300.0, noise=noise)))
    assert not found.keeps_up
    assert is_certain(found)


def test_a_copy_that_is_much_too_small_is_known_by_its_second_batch() -> None:
    of = [batch(0.0, 20.0, 5 * ARRIVING, cold=True), batch(20.0, 80.0, 20 * ARRIVING)]
    found = reading(mirrored(of))
    assert not found.keeps_up
    assert found.batches == 1


def test_a_second_batch_that_is_longer_by_a_quarter_may_be_chance() -> None:
    of = [batch(0.0, 60.0, 5 * ARRIVING, cold=True), batch(60.0, 75.0, 60 * ARRIVING)]
    assert mirrored(of).reading(2) is None, "nothing counts yet, and nothing is sure"


@pytest.mark.parametrize("seed", range(40))
def test_batches_that_are_longer_now_and_then_are_no_falling_behind(seed: int) -> None:
    chance, found = random.Random(seed), Mirror()
    made = [batch(0.0, 12.0, 5 * ARRIVING, cold=True)]
    while made[-1].end < 240:
        length = (6.0 + 0.7 * made[-1].seconds) * (1 + chance.gauss(0, 0.1))
        made.append(batch(made[-1].end, length, ARRIVING * made[-1].seconds))
        found = found.with_report(live(made))
        so_far = found.reading(2)
        assert so_far is None or so_far.keeps_up


def test_less_than_a_minute_of_longer_batches_is_no_falling_behind() -> None:
    of = [batch(0.0, 2.0, 2000.0, cold=True), batch(2.0, 4.0, 2000.0), batch(6.0, 9.0, 4000.0)]
    of += [batch(15.0, 17.0, 9000.0), batch(32.0, 20.0, 17000.0)]
    assert reading(mirrored(of)).keeps_up


def test_a_copy_whose_batches_may_grow_no_more_and_leave_rows_does_not_keep_up() -> None:
    found, batches = Mirror(), [batch(0.0, 6.0, 1000.0, cold=True)]
    for number in range(20):
        batches.append(batch(batches[-1].end, 5.0, 4000.0))
        found = found.with_report(live(batches, lag=1000.0 * number))
    assert not reading(found).keeps_up


def test_pauses_between_batches_that_may_be_no_larger_save_no_copy() -> None:
    found, batches = Mirror(), [batch(0.0, 6.0, 1000.0, cold=True)]
    for number in range(1, 20):
        batches.append(batch(10.0 * number, 4.0, 8000.0))
        found = found.with_report(live(batches, lag=2000.0 * number))
    assert not reading(found).keeps_up


def test_a_copy_that_works_off_what_its_start_left_lying_keeps_up() -> None:
    found, batches = Mirror(), [batch(0.0, 30.0, 1000.0, cold=True)]
    for number in range(30):
        batches.append(batch(batches[-1].end, 3.0, 4000.0))
        found = found.with_report(live(batches, lag=max(0.0, 30000.0 - 1000.0 * number)))
    assert reading(found).keeps_up


def test_a_copy_with_pauses_keeps_up_however_long_its_batches_become() -> None:
    batches = [batch(60.0 * number, 4.0 + 7 * number, 60 * ARRIVING) for number in range(7)]
    found = reading(mirrored(batches))
    assert found.keeps_up
    assert is_certain(found)


def test_what_cold_batches_and_those_after_them_took_does_not_count() -> None:
    whole = batches_of(1500.0, 120.0)
    found = reading(mirrored(whole))
    counted = [one for one in whole if one.start >= whole[0].end + SETTLING]
    assert found.batches == len(counted)
    assert found.seconds == pytest.approx(counted[-1].end - counted[0].start)
    assert mirrored(whole[:3]).reading(2) is None


def test_an_executor_that_is_lost_begins_the_minute_anew() -> None:
    whole = batches_of(1500.0, 300.0)
    lost = [replace(one, executors=1) if 240 < one.start < 250 else one for one in whole]
    found = reading(mirrored(lost))
    assert found.seconds < LONG_ENOUGH
    assert not is_certain(found)


def test_a_minute_with_enough_batches_is_certain_and_nothing_shorter() -> None:
    of = reading(mirrored(batches_of(1500.0, 240.0)))
    assert is_certain(replace(of, batches=ENOUGH, seconds=LONG_ENOUGH))
    assert not is_certain(replace(of, batches=ENOUGH - 1, seconds=LONG_ENOUGH))
    assert not is_certain(replace(of, batches=ENOUGH, seconds=LONG_ENOUGH - 1))


def test_latencies_of_a_longer_window_need_as_long_a_time_without_disturbance() -> None:
    found = reading(mirrored(batches_of(1500.0, 240.0), latency_window=300.0))
    assert not is_certain(found)
    assert is_certain(replace(found, seconds=300.0))


def test_the_latency_of_a_job_is_that_of_its_slowest_query() -> None:
    report = live(batches_of(1500.0, 120.0))
    slow = replace(report.queries[0], batches=(), latency={"p50": 0.1, "p95": 9.0, "p99": 9.5})
    found = Mirror().with_report(replace(report, queries=(*report.queries, slow)))
    assert reading(found).latency == Percentiles(p50=0.5, p95=9.0, p99=9.5)


def test_what_was_before_the_first_look_does_not_count_because_nobody_saw_what_was_left() -> None:
    batches = batches_of(800.0, 300.0)
    assert reading(Mirror().with_report(live(batches))).batches == 1


def test_without_a_latency_or_a_rate_nothing_is_read() -> None:
    batches = batches_of(1500.0, 120.0)
    assert Mirror().reading(2) is None
    assert mirrored(batches, latency={}).reading(2) is None
    unknown = Mirror().with_report(live(batches, arrival_rate=None))
    assert unknown.reading(2) is None
    assert unknown.with_report(live(batches)).reading(2) is not None


def test_batches_are_counted_once_and_those_of_another_driver_anew() -> None:
    batches = batches_of(1500.0, 120.0)
    found = mirrored(batches).with_report(live(batches))
    assert [batch.start for batch in found.batches] == [batch.start for batch in batches]
    again = replace(live(batches[:2]), incarnation=2)
    assert len(found.with_report(again).batches) == 2


def test_a_source_is_dry_until_a_row_has_arrived() -> None:
    idle: dict[str, Any] = {"committed_at": None, "arrival_rate": 0.0, "latency": {}}
    assert Mirror().with_report(live([], **idle)).is_dry
    assert Mirror().with_report(live([batch(0, 1, 0)], **idle)).is_dry
    assert not Mirror().with_report(live([batch(0, 1, 7)])).is_dry
    assert not Mirror().with_report(live([], in_batch_since=NOW, **idle)).is_dry
    starting = replace(live([]), queries=())
    assert not Mirror().with_report(starting).is_dry
    worked = Mirror().with_report(live([batch(0, 1, 7)]))
    assert not worked.with_report(live([batch(2, 1, 0)])).is_dry
    ended = query(name="backfill", active=False, committed_at=None)
    beside = live([], **idle)
    assert Mirror().with_report(replace(beside, queries=(*beside.queries, ended))).is_dry


def test_a_program_whose_own_work_was_left_out_gives_a_lower_bound() -> None:
    found = reading(mirrored(batches_of(1500.0, 120.0), profile="lowerBound"))
    assert found.is_lower_bound
