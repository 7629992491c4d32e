import pytest

from sluice.agent.arrivals import ArrivalCurve, Stretch


def curve(*samples: tuple[float, float], needed_from: float | None = None) -> ArrivalCurve:
    built = ArrivalCurve()
    for time, rows in samples:
        built = built.with_sample(time, rows, needed_from)
    return built


def test_a_row_arrived_on_the_line_between_two_samples() -> None:
    assert curve((10, 0), (20, 100)).time_of(25) == 12.5


def test_a_row_after_a_pause_arrived_after_it() -> None:
    assert curve((0, 0), (10, 100), (50, 100), (60, 200)).time_of(100) == 50


@pytest.mark.parametrize("row", [4, 10, 11])
def test_the_arrival_of_rows_outside_the_samples_is_unknown(row: float) -> None:
    assert curve((0, 5), (10, 10)).time_of(row) is None


def test_a_range_of_rows_splits_by_pace_of_arrival() -> None:
    two_paces = curve((0, 0), (10, 100), (20, 120))

    assert two_paces.stretches(50, 110) == (Stretch(5, 10, 50), Stretch(10, 15, 10))


def test_rows_from_before_the_first_sample_are_left_out() -> None:
    assert curve((0, 100), (10, 200)).stretches(0, 110) == (Stretch(0, 1, 10),)


def test_the_rate_is_over_the_last_quarter_of_a_minute() -> None:
    assert curve((0, 0), (145, 1000), (150, 1000), (160, 1060)).rate() == 4.0


def test_the_rate_of_rare_samples_is_between_the_last_two() -> None:
    assert curve((0, 0), (100, 200)).rate() == 2.0


def test_one_sample_has_no_rate() -> None:
    assert curve((0, 100)).rate() is None


def test_a_source_that_was_created_anew_begins_a_new_curve() -> None:
    assert curve((0, 100), (10, 200), (20, 5)).samples == ((20, 5),)


def test_rows_that_were_always_there_leave_the_rate_and_the_times() -> None:
    before = curve((0, 0), (10, 100))
    raised = before.raised(5_000)

    assert raised.rate() == before.rate()
    assert raised.time_of(5_050) == before.time_of(50)


def test_rows_are_counted_on_after_the_clock_was_set_back() -> None:
    built = curve((100, 10), (160, 20)).with_look(103, 30, None)

    assert (built.rows(), built.rate()) == (30, None)
    assert built.with_look(105, 50, None).rate() == 10.0


def test_looks_that_overtake_each_other_change_nothing() -> None:
    before = curve((100, 10), (160, 20))

    assert before.with_look(157, 25, None) == before
    assert before.with_look(103, 20, None) == before


def test_samples_of_uncommitted_rows_are_kept_however_old() -> None:
    old = curve(*[(float(t), 10.0 * t) for t in range(300)], needed_from=55)

    assert old.time_of(55) == 5.5


def test_samples_of_committed_rows_are_dropped_after_the_window() -> None:
    young = curve(*[(float(t), 10.0 * t) for t in range(300)], needed_from=None)

    assert len(young.samples) == 17


def test_a_long_backlog_does_not_grow_without_bound_and_keeps_its_ends() -> None:
    long = curve(*[(float(t), 10.0 * t) for t in range(5000)], needed_from=5)

    assert len(long.samples) <= 512
    assert long.time_of(5) == pytest.approx(0.5)
    assert long.time_of(49_000) == pytest.approx(4900)
