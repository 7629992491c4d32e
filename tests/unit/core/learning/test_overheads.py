"""What batches have in common where each begins when the one before has ended, and has the rows that came meanwhile."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.overheads import (
    Overhead,
    Overheads,
    busy_rates,
    fitted_overhead,
    fitted_overheads,
    least_rates,
)
from sluice.core.series import NoData

OVERHEAD, RATE = 0.4, 1000.0


def ready(_: float) -> float:
    return 1.0


def following(
    load: Callable[[float], float],
    slowness: Callable[[float], float] = ready,
    *,
    first: float = 1.0,
    most: float = math.inf,
    count: int = 120,
) -> Iterator[BatchReport]:
    """Batches of a trigger that never waits, under a load in rows per second, on a machine that is so slow."""
    chance = np.random.default_rng(1)
    at, interval = 0.0, first
    for _ in range(count):
        rows = min(most, load(at) * interval)
        slow = slowness(at) * float(chance.lognormal(0.0, 0.02))
        seconds = slow * (OVERHEAD + rows / RATE)
        yield BatchReport(start=at, seconds=seconds, rows=rows, executors=4, interval=interval)
        at, interval = at + seconds, seconds


def warming(at: float) -> float:
    """Slower by half at first, and nearly there after two minutes."""
    return 1 + 0.5 * math.exp(-at / 40)


def constant(_: float) -> float:
    return 400.0


def waves(at: float) -> float:
    return 450.0 + 250.0 * math.sin(at / 30)


def told(batches: list[BatchReport]) -> float:
    found = fitted_overhead(batches).capacity(batches)
    assert not isinstance(found, NoData)
    return found


def test_a_machine_that_becomes_faster_does_not_make_a_job_look_as_if_it_could_do_no_more() -> None:
    batches = list(following(constant, warming))
    found = fitted_overhead(batches)
    assert isinstance(found.capacity(batches), NoData)
    unaware = [_without_interval(batch) for batch in batches]
    assert fitted_overhead(unaware).capacity(unaware) < 1.2 * 400, "what this is about"  # type: ignore[operator]


def test_a_load_that_varies_tells_overhead_and_capacity_on_such_a_machine_too() -> None:
    batches = list(following(waves))
    assert fitted_overhead(batches).seconds == pytest.approx(OVERHEAD, rel=0.05)
    assert told(batches) == pytest.approx(RATE, rel=0.05)
    slowed = list(following(waves, warming, count=400))[100:]
    assert told(slowed) == pytest.approx(RATE, rel=0.15)


def test_a_backlog_tells_them_under_a_constant_load() -> None:
    batches = list(following(constant, first=60.0))
    assert fitted_overhead(batches).seconds == pytest.approx(OVERHEAD, rel=0.05)
    assert told(batches) == pytest.approx(RATE, rel=0.05)


def test_an_interval_in_which_the_clock_was_set_back_is_none() -> None:
    """A trigger of 30 s, and a clock that was set back by a minute: the two intervals would be none on average."""
    first, second = (
        BatchReport(start=start, seconds=5.0, rows=rows, executors=2, interval=30.0)
        for start, rows in ((1000.0, 400), (970.0, 500))
    )
    known = fitted_overhead([first, replace(second, interval=None)])
    assert fitted_overhead([first, replace(second, interval=-30.0)]) == known


def test_batches_that_a_limit_keeps_at_one_size_tell_nothing_of_their_overhead() -> None:
    limited = list(following(lambda _: 2000.0, warming, most=500.0))
    assert {batch.rows for batch in limited} == {500.0}
    alike = [_without_interval(batch) for batch in limited]
    assert fitted_overhead(limited) == _about(fitted_overhead(alike))


def _about(overhead: Overhead) -> Overhead:
    return Overhead(
        seconds=pytest.approx(overhead.seconds),  # type: ignore[arg-type]  # compares as a float
        error=pytest.approx(overhead.error),  # type: ignore[arg-type]
    )


def _without_interval(batch: BatchReport) -> BatchReport:
    return BatchReport(
        start=batch.start, seconds=batch.seconds, rows=batch.rows, executors=batch.executors
    )


def on(
    executors: int,
    overhead: float,
    *,
    count: int = 40,
    sizes: tuple[float, float] = (100, 900),
    each: float = RATE,
    noise: float = 0.02,
    seed: int | None = None,
) -> list[BatchReport]:
    """Batches of few rows on so many executors, of which each does so many rows per second."""
    chance = np.random.default_rng(executors if seed is None else seed)
    return [
        BatchReport(
            start=100.0 * executors + number,
            seconds=(overhead + rows / (each * executors)) * float(chance.lognormal(0.0, noise)),
            rows=rows,
            executors=executors,
        )
        for number, rows in enumerate(chance.uniform(*sizes, count))
    ]


def least(batches: list[BatchReport], overheads: Overheads | None = None) -> float:
    """What the executors of these batches can do at least, by the overhead that these tell, or a known one."""
    ((_, rate),) = least_rates(batches, overheads or fitted_overheads(batches, is_shared=False))
    return rate


def busy(batches: list[BatchReport]) -> float:
    ((_, rate),) = busy_rates(batches)
    return rate


@pytest.mark.parametrize("sizes", [(120, 480), (1200, 1800), (600, 2400)])
@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_small_batches_tell_more_than_what_they_do_in_all_their_time_and_seldom_more_than_there_is(
    noise: float, sizes: tuple[float, float]
) -> None:
    all_batches = [
        on(1, 1.2, count=60, sizes=sizes, each=2000, noise=noise, seed=seed) for seed in range(40)
    ]
    shares = sorted(least(batches) / 2000 for batches in all_batches)
    assert shares[37] < 1
    assert median(shares) > 1.2 * median(busy(batches) / 2000 for batches in all_batches)


def test_what_is_not_sure_of_an_overhead_is_taken_for_work() -> None:
    batches = on(1, 1.0)
    unsure = Overheads(fixed=1.0, fixed_error=1.0)
    assert least(batches, unsure) == pytest.approx(busy(batches))
    sure = Overheads(fixed=1.0, fixed_error=0.01)
    assert busy(batches) < least(batches, sure) < RATE


def test_batches_never_seem_to_be_all_overhead() -> None:
    batches = on(1, 1.0)
    wrong = Overheads(fixed=5.0, fixed_error=0.01)
    assert least(batches, wrong) == pytest.approx(4 * busy(batches))


def test_a_single_batch_tells_what_it_did() -> None:
    (batch,) = on(1, 1.0, count=1)
    sure = Overheads(fixed=1.0, fixed_error=0.0)
    assert least([batch], sure) == pytest.approx(busy([batch]))


def test_executors_share_what_the_tasks_of_a_state_take() -> None:
    found = fitted_overheads([*on(1, 20.5), *on(4, 5.5)], is_shared=True)
    assert found.shared == pytest.approx(20.0, rel=0.05)
    assert found.fixed == pytest.approx(0.5, abs=0.3)
    assert found.of(2).seconds == pytest.approx(10.5, rel=0.05)


def test_until_other_executors_tell_all_but_a_second_is_thought_to_be_shared() -> None:
    found = fitted_overheads(on(2, 10.0), is_shared=True)
    assert found.of(2).seconds == pytest.approx(10.0, rel=0.05)
    assert found.fixed == pytest.approx(1.0)
    assert found.of(8).error > found.of(2).error
    short = fitted_overheads(on(2, 0.6), is_shared=True)
    assert short.shared == 0.0
    assert short.fixed == pytest.approx(0.6, rel=0.2)


def test_what_takes_as_long_with_all_executors_is_not_shared() -> None:
    found = fitted_overheads([*on(2, 12.0), *on(6, 12.0)], is_shared=True)
    assert found.shared / 2 < 0.05 * found.fixed
    assert found.fixed == pytest.approx(12.0, rel=0.05)


def test_no_part_of_an_overhead_is_negative() -> None:
    better, worse = (
        fitted_overheads([*on(1, 20.0), *on(4, most)], is_shared=True) for most in (2.0, 25.0)
    )
    assert (better.fixed, better.fixed_error) == (0.0, 0.0)
    assert 8.0 < better.shared < 20.0
    assert worse.shared == 0.0
    assert 20.0 < worse.fixed < 25.0


@pytest.mark.parametrize(
    "batches",
    [
        [(2, 8, 1000), (4, 8, 1000), (4, 20, 2000)],
        [(2, 1, 500), (4, 1, 4000), (4, 8, 8000)],
        [(2, 2, 100), (4, 20, 8000), (2, 20, 500), (1, 1, 4000)],
    ],
)
def test_no_part_is_negative_either_where_rows_cost_the_more_the_more_there_are(
    batches: list[tuple[int, float, float]],
) -> None:
    told = [
        BatchReport(start=30.0 * number, seconds=seconds, rows=rows, executors=executors)
        for number, (executors, seconds, rows) in enumerate(batches)
    ]
    found = fitted_overheads(told, is_shared=True)
    assert (found.fixed, found.shared) == (0.0, 0.0)


def test_what_was_learned_of_other_executors_holds_when_their_batches_are_forgotten() -> None:
    both = fitted_overheads([*on(1, 20.5), *on(4, 5.5)], is_shared=True)
    found = fitted_overheads(on(4, 5.5), both.fixed, both.shared, is_shared=True)
    assert found.shared == pytest.approx(both.shared, rel=0.1)


def test_batches_of_one_size_leave_what_is_known_of_the_overhead() -> None:
    """Under a steady load none tells how much of it the rows take: half, as far as is known of a new job."""
    alike = [
        BatchReport(start=10.0 * number, seconds=5.6, rows=300, executors=4) for number in range(90)
    ]
    found = fitted_overheads(alike, 0.5, 20.0, is_shared=True)
    assert (found.fixed, found.shared) == pytest.approx((0.5, 20.0), rel=0.01)
    assert fitted_overheads(alike, is_shared=True).of(4).seconds == pytest.approx(2.8)


def test_a_driver_that_works_alone_has_all_of_what_executors_would_share() -> None:
    alone = [replace(batch, executors=0) for batch in on(1, 20.5)]
    found = fitted_overheads(alone, is_shared=True)
    assert found.of(0) == found.of(1)
    assert found.of(0).seconds == pytest.approx(20.5, rel=0.05)


def test_without_state_nothing_is_shared() -> None:
    batches = [*on(1, 20.5), *on(4, 5.5)]
    found, plain = fitted_overheads(batches, is_shared=False), fitted_overhead(batches)
    assert found.shared == 0.0
    assert found.of(1) == found.of(9) == plain


def quiet(batches: Iterable[BatchReport], waited: float) -> list[BatchReport]:
    """The same batches where tasks wait for so long in each."""
    return [
        replace(batch, seconds=batch.seconds + waited, waited=batch.waited + waited)
        for batch in batches
    ]


def test_what_tasks_wait_for_rows_is_no_overhead() -> None:
    batches = list(following(waves))
    for waited in (0.01, 0.5, 2.0):
        found = fitted_overhead(quiet(batches, waited))
        assert found.seconds == pytest.approx(fitted_overhead(batches).seconds, rel=0.05)


def test_batches_tell_the_capacity_as_far_as_they_are_work() -> None:
    large = [BatchReport(start=0.0, seconds=10.0, rows=9_500, executors=4)] * 5
    overhead = Overhead(seconds=0.5, error=0.01)
    assert overhead.capacity(large) == pytest.approx(1_000.0)
    assert overhead.capacity(quiet(large, 1.0)) == pytest.approx(1_000.0)
    # How long tasks have waited is known to a quarter.
    assert isinstance(overhead.capacity(quiet(large, 5.0)), NoData)


def test_what_is_done_at_least_is_done_in_all_the_time_that_it_took() -> None:
    batches = [BatchReport(start=0.0, seconds=10.0, rows=9_500, executors=4)] * 5
    overheads = Overheads(fixed=0.5, fixed_error=0.01)
    ((_, least),) = least_rates(quiet(batches, 5.0), overheads)
    assert least < 9_500 / 14.0


def test_a_batch_is_never_all_waiting() -> None:
    batch = BatchReport(start=0.0, seconds=2.0, rows=10, executors=4, waited=9.0)
    assert 0 < batch.worked < batch.seconds
