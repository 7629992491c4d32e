"""What the loads are like that policies are tried with."""

import numpy as np
import pytest

from sluice.core.simulation import suites, trace
from sluice.core.simulation.trace import Trace

NAMES = [*suites.TUNING, *suites.REPORTING]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_trace_and_another_one_another(name: str) -> None:
    first, again, other = (suites.named_trace(name, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.rates, again.rates)
    assert not np.array_equal(first.rates, other.rates)


def test_no_trace_is_used_both_for_tuning_and_for_reporting() -> None:
    assert not set(suites.TUNING) & set(suites.REPORTING)
    shapes = [suites.named_trace(name, 1).rates.tobytes() for name in NAMES]
    assert len(set(shapes)) == len(shapes)


def test_the_cars_have_the_published_ends_mean_and_loads() -> None:
    rates = suites.REPORTING["cars"](0)
    assert (rates.min(), rates.max()) == (11_000, 188_000)
    assert rates.mean() == pytest.approx(91_000, rel=0.02)
    published = [52.7e3, 54.3e3, 140.1e3, 73.0e3, 83.2e3, 134.1e3, 167.5e3, 60.4e3]
    assert [rates[1200 + 2743 * k] for k in range(8)] == pytest.approx(published, rel=0.01)


def test_the_yahoo_wave_goes_from_nothing_to_twice_its_mean_in_an_hour() -> None:
    rates = suites.REPORTING["yahoo-sine"](0)
    assert rates[0] == pytest.approx(0, abs=1)
    assert rates[3600] == pytest.approx(200_000, rel=1e-6)
    assert rates[:7200].mean() == pytest.approx(100_000, rel=1e-3)


def test_noise_keeps_the_level() -> None:
    rates = trace.noisy(np.full(20_000, 1000.0), 0.05, seed=3)
    assert rates.mean() == pytest.approx(1000, rel=0.01)
    assert rates.std() == pytest.approx(50, rel=0.2)


def test_producers_that_were_silent_send_everything_later() -> None:
    calm = np.full(1000, 10.0)
    rates = trace.with_outage(calm, at=300, length=100, caught_up=200)
    assert rates[300:400].sum() == 0
    assert rates.sum() == pytest.approx(calm.sum())


@pytest.mark.parametrize("rates", [[], [1.0, -1.0], [float("nan")], [float("inf")]])
def test_a_rate_that_cannot_be_is_refused(rates: list[float]) -> None:
    with pytest.raises(ValueError, match="trace odd"):
        Trace(name="odd", rates=np.array(rates))
