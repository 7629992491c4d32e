from dataclasses import replace

import pytest

from sluice.agent.histogram import Histogram
from sluice.agent.latency import Committed, Latency, Timing


def batch(
    at: float, rows: float = 10, estimate: Histogram | None = None, end: int = 10
) -> Committed:
    return Committed(
        run_id="run-1",
        batch_id=0,
        source="KafkaV2[Subscribe[orders]]",
        committed_at=at,
        rows=rows,
        estimate=Histogram() if estimate is None else estimate,
        starts={"orders-0": 0},
        ends={"orders-0": end},
    )


def ages(seconds: float, rows: float) -> Histogram:
    return Histogram().observed(seconds, seconds, rows)


def counted(latency: Latency, one: Committed, timed: Histogram) -> Latency:
    return latency.with_committed(one).with_timing(Timing(one, timed))


def test_timestamps_count_before_the_arrival_curve() -> None:
    one = batch(100, estimate=ages(50, 10))
    latency = counted(Latency(), one, ages(2, 10))

    assert latency.histogram == ages(2, 10)
    assert (latency.waiting, latency.estimated_rows, latency.untimed_rows) == ((), 0, 0)


def test_rows_without_a_usable_timestamp_are_timed_by_their_arrival() -> None:
    one = batch(100, estimate=ages(50, 10))
    latency = counted(Latency(), one, ages(2, 7))

    assert latency.histogram.count == pytest.approx(10)
    assert latency.histogram.sum == pytest.approx(2 * 7 + 50 * 3)
    assert latency.estimated_rows == pytest.approx(3)


def test_rows_that_nothing_times_are_untimed() -> None:
    latency = counted(Latency(), batch(100), ages(2, 7))

    assert (latency.histogram.count, latency.untimed_rows) == (7, 3)


def test_a_partition_of_which_no_start_is_known_is_left_out() -> None:
    assert batch(100, end=7).ranges == [("orders-0", 0, 7)]
    assert replace(batch(100), starts={"orders-1": 0}).ranges == []


def test_a_batch_waits_as_long_as_there_is_patience() -> None:
    early, late = batch(100, estimate=ages(5, 10)), batch(110)
    latency = Latency().with_committed(early).with_committed(late).with_patience_until(105)

    assert latency.waiting == (late,)
    assert latency.histogram == ages(5, 10)


def test_a_timing_that_comes_too_late_counts_nothing_twice() -> None:
    one = batch(100, estimate=ages(5, 10))
    given_up = Latency().with_committed(one).with_patience_until(105)

    assert given_up.with_timing(Timing(one, ages(2, 10))) == given_up


def test_percentiles_are_of_the_last_minute() -> None:
    latency = counted(Latency(), batch(0), ages(100, 10))
    for second in range(1, 180):
        latency = counted(latency, batch(second), ages(2, 10))

    window = latency.window(180)
    assert window.seconds == 60
    assert window.histogram.count == pytest.approx(600, abs=60)
    assert window.histogram.quantile(1.0) == pytest.approx(2.0)


def test_percentiles_are_of_the_last_minute_also_after_the_clock_was_set_back() -> None:
    latency = Latency()
    for second in range(9000, 9180):
        latency = counted(latency, batch(second), ages(100, 10))
    for second in range(5400, 5580):
        latency = counted(latency, batch(second), ages(2, 10))

    window = latency.window(5580)
    assert window.histogram.count == pytest.approx(600, abs=60)
    assert window.histogram.quantile(1.0) == pytest.approx(2.0)


def test_batches_that_are_counted_out_of_order_stay_within_their_minute() -> None:
    latency = counted(Latency(), batch(0), ages(100, 10))
    for second in range(60, 240, 30):
        latency = counted(latency, batch(second + 31), ages(2, 10))
        latency = counted(latency, batch(second), ages(2, 10))

    assert latency.window(240).histogram.quantile(1.0) == pytest.approx(2.0)
    assert latency.histogram.count == 130


def test_a_job_that_commits_rarely_has_percentiles_of_five_minutes() -> None:
    latency = counted(counted(Latency(), batch(0), ages(3, 10)), batch(200), ages(2, 10))

    assert latency.window(290).seconds == 300
    assert latency.window(290).histogram.count == 20
    assert latency.window(900).histogram.count == 0


def test_a_day_of_batches_is_remembered_in_little() -> None:
    latency = Latency()
    for second in range(5000):
        latency = counted(latency, batch(second), ages(2, 10))

    assert len(latency.recent) < 100
    assert latency.histogram.count == 50_000
