"""What tasks wait for rows of quiet partitions: the means of exact waits, and how batches of them grow."""

import math
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.modelling.fetching import Fetching

SOURCE = Fetching(partitions=24, longest=0.5)

rates = st.floats(0.01, 1e5)
slots = st.integers(1, 100)
sources = st.builds(Fetching, partitions=st.integers(1, 300), longest=st.floats(0.0, 2.0))


@pytest.mark.parametrize("rate", [1, 24, 48, 100, 2400])
def test_a_task_waits_on_average_what_one_at_each_moment_between_two_rows_does(rate: int) -> None:
    distance = 24 / rate
    moments = [distance * (place + 0.5) / 1000 for place in range(1000)]
    waits = [min(0.5, distance - moment) for moment in moments]
    assert SOURCE.of_task(rate) == pytest.approx(fmean(waits), rel=1e-3)


def test_where_nothing_comes_a_task_waits_as_long_as_it_may() -> None:
    assert SOURCE.of_task(0.0) == 0.5
    assert SOURCE.of_task(math.inf) == 0.0


def test_tasks_go_in_waves_and_only_partitions_with_rows_have_one() -> None:
    assert SOURCE.waited(2, 48, 1000) == pytest.approx(12 * 0.25)
    assert SOURCE.waited(2, 48, 5) == pytest.approx(3 * 0.25), "five tasks on two slots"
    assert SOURCE.waited(100, 48, 1000) == pytest.approx(0.25)
    assert SOURCE.waited(2, 48, 0) == 0.0
    assert SOURCE.waited(0, 48, 1000) == pytest.approx(24 * 0.25), "as on one slot"


@pytest.mark.parametrize(
    ("together", "rate", "rest", "waves"),
    [
        (12, 24, 0.5, 2),  # rows come for all partitions, because tasks wait in the meantime
        (100, 24, 0.5, 1),  # 13 rows on a hundred slots
        (
            2,
            10,
            0.1,
            12,
        ),  # more rows come in a wait than tasks end in it, however short the rest is
        (2, 1, 0.5, 1),  # a row now and then
        (2, 1, 3.0, 2),  # four of them
        (2, 0, 3.0, 0),
    ],
)
def test_in_a_usual_batch_tasks_wait_that_have_rows_which_came_during_it(
    together: int, rate: float, rest: float, waves: int
) -> None:
    found = SOURCE.usually_waited(together, rate, rest)
    assert found == pytest.approx(waves * SOURCE.of_task(rate))


@given(sources, slots, rates, st.floats(0.0, 30.0))
def test_more_slots_never_make_tasks_wait_longer(
    source: Fetching, together: int, rate: float, rest: float
) -> None:
    fewer = source.usually_waited(together, rate, rest)
    assert source.usually_waited(together + 1, rate, rest) <= fewer


@pytest.mark.parametrize(("partitions", "longest"), [(0, 0.5), (1, -1.0), (1, math.inf)])
def test_a_source_that_cannot_be_is_refused(partitions: int, longest: float) -> None:
    with pytest.raises(ValueError, match="partition"):
        Fetching(partitions=partitions, longest=longest)
