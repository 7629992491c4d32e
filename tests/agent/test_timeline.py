from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.agent.histogram import LONG_BOUNDS, Histogram
from sluice.agent.latency import Committed
from sluice.agent.timeline import AGES, Timeline

NOW = 1_000_000.0


def batch(**ranges: tuple[int, int]) -> Committed:
    """A batch that was committed NOW, of partitions and where their rows begin and end."""
    return Committed(
        run_id="run-1",
        batch_id=0,
        source="KafkaV2[Subscribe[orders]]",
        committed_at=NOW,
        rows=sum(end - start for start, end in ranges.values()),
        estimate=Histogram(),
        starts={name: start for name, (start, _) in ranges.items()},
        ends={name: end for name, (_, end) in ranges.items()},
    )


def timeline(*known: tuple[float, dict[str, int]]) -> Timeline:
    """What is known of some ages before NOW."""
    built = Timeline()
    for age, offsets in known:
        built = built.with_offsets(NOW - age, offsets)
    return built


def count_of(histogram: Histogram, bound: float) -> float:
    return histogram.counts[LONG_BOUNDS.index(bound)]


def at_most(histogram: Histogram, bound: float) -> float:
    return sum(histogram.counts[: LONG_BOUNDS.index(bound) + 1])


def test_the_rows_between_two_known_instants_are_counted_exactly() -> None:
    known = timeline((0, {"a": 100}), (0.5, {"a": 90}), (1.0, {"a": 30}), (1.5, {"a": 0}))
    ages = known.ages(batch(a=(0, 100)))

    assert [at_most(ages, bound) for bound in (0.5, 1.0, 1.5)] == [10, 70, 100]


def test_between_known_instants_rows_are_taken_to_come_evenly() -> None:
    ages = timeline((0, {"a": 100}), (10, {"a": 0})).ages(batch(a=(0, 100)))

    assert count_of(ages, 0.1) == pytest.approx(1)
    assert count_of(ages, 10.0) == pytest.approx(25)
    assert ages.sum == pytest.approx(500)


def test_partitions_that_lag_unevenly_are_timed_each_on_its_own() -> None:
    known = timeline(
        (0, {"a": 100, "b": 100}), (1, {"a": 0, "b": 100}), (100, {"a": 0, "b": 100}),
        (120, {"a": 0, "b": 0}),
    )  # fmt: skip
    ages = known.ages(batch(a=(0, 100), b=(0, 100)))

    assert at_most(ages, 1.0) == pytest.approx(100)
    assert count_of(ages, 120.0) == pytest.approx(100)


def test_rows_behind_a_record_from_the_future_are_left_out() -> None:
    # The record at 40 is stamped after the commit, so every instant until then ends there.
    known = timeline((0, {"a": 40}), (1, {"a": 40}), (2, {"a": 0}))

    assert known.ages(batch(a=(0, 100))).count == pytest.approx(40)
    assert known.ages(batch(a=(50, 100))).count == 0


def test_rows_from_before_the_oldest_known_instant_are_left_out() -> None:
    known = timeline((0, {"a": 100}), (10, {"a": 60}))

    assert known.ages(batch(a=(0, 100))).count == pytest.approx(40)


def test_a_compacted_topic_counts_its_rows_not_its_offsets() -> None:
    half = replace(batch(a=(0, 100)), rows=50)

    assert timeline((0, {"a": 100}), (1, {"a": 0})).ages(half).count == pytest.approx(50)


def test_a_partition_that_was_added_has_no_offsets_at_earlier_instants() -> None:
    known = timeline((0, {"a": 10, "b": 10}), (1, {"a": 0}))

    assert known.ages(batch(a=(0, 10), b=(0, 10))).count == pytest.approx(20)


def test_a_partition_that_is_gone_is_left_out() -> None:
    known = timeline((0, {"a": 10}), (1, {"a": 0}))

    assert known.ages(batch(a=(0, 10), b=(0, 10))).count == pytest.approx(10)


def test_offsets_that_go_back_in_time_count_no_negative_rows() -> None:
    known = timeline((0, {"a": 100}), (1, {"a": 20}), (2, {"a": 50}), (3, {"a": 0}))

    assert min(known.ages(batch(a=(0, 100))).counts) >= 0


def test_rows_of_a_year_old_backlog_are_older_than_any_bound() -> None:
    known = timeline((0, {"a": 100}), (LONG_BOUNDS[-1], {"a": 100}), (AGES[-1], {"a": 0}))

    assert known.ages(batch(a=(0, 100))).counts[-1] == pytest.approx(100)


def test_without_any_instant_nothing_is_known() -> None:
    assert Timeline().ages(batch(a=(0, 100))).count == 0


@pytest.mark.parametrize(
    ("age", "is_older"), [(0.5, True), (1.0, True), (2.0, False), (3.0, False), (4.0, True)]
)
def test_a_batch_is_older_than_an_age_until_its_first_row_is_passed(
    age: float, is_older: bool
) -> None:
    known = timeline((0, {"a": 100}), (1, {"a": 60}), (2, {"a": 50}), (3, {"a": 40}))

    assert known.is_older_than(batch(a=(50, 100)), age) == is_older


@pytest.mark.parametrize(
    ("age", "spacing", "knows"),
    [(5.0, 0.1, True), (5.1, 0.1, True), (5.5, 0.1, False), (5.5, 1.0, True), (7.0, 1.0, False)],
)
def test_an_instant_near_a_known_one_is_known(age: float, spacing: float, knows: bool) -> None:
    assert timeline((5.0, {"a": 1})).knows(NOW - age, age, spacing) == knows


def test_instants_that_later_rows_do_not_need_are_dropped() -> None:
    known = timeline((0, {"a": 100}), (1, {"a": 60}), (2, {"a": 50}), (3, {"a": 40}))

    assert known.behind({"a": 55}).instants == (NOW - 2, NOW - 1, NOW)


def test_a_long_backlog_keeps_its_ends_in_little() -> None:
    known = timeline(*((float(age), {"a": 10_000 - age}) for age in range(2000)))
    kept = known.behind({"a": 10})

    assert len(kept.instants) <= 2000 * 3 // 4
    assert (kept.instants[0], kept.instants[-1]) == (NOW - 1999, NOW)


@given(
    steps=st.lists(
        st.tuples(st.floats(0.01, 5000), st.integers(0, 50), st.integers(0, 50)), max_size=20
    )
)
def test_rows_whose_first_and_last_instant_are_known_are_all_counted(
    steps: list[tuple[float, int, int]],
) -> None:
    built, age, a, b = timeline((0, {"a": 9999, "b": 9999})), 0.0, 9999, 9999
    for seconds, rows_of_a, rows_of_b in steps:
        age, a, b = age + seconds, a - rows_of_a, b - rows_of_b
        built = built.with_offsets(NOW - age, {"a": a, "b": b})
    one = batch(a=(a, 9999), b=(b, 9999))
    ages = built.ages(one) if one.rows else Histogram()

    assert ages.count == pytest.approx(one.rows)
    assert min(ages.counts) >= 0
    assert ages.sum <= one.rows * age + 1e-6
