"""What is asked of a metrics' server, and what becomes of its answers."""

from datetime import datetime, timedelta

import pytest

from sluice.core.application import JobKey
from sluice.core.measurement import NOT_CONFIGURED, Measurement, Unmeasured
from sluice.ports import Labelled
from sluice.services.fleet import Fleet
from sluice.services.measuring import Measuring
from tests.support.jobs import NOW, resource
from tests.support.metrics import MemoryMetrics

CLICKS = JobKey("shop", "clicks")


class FixedClock:
    """It is always NOW."""

    def now(self) -> datetime:
        return NOW


def one(value: float, **labels: str) -> Labelled:
    """A series of shop/clicks with one value."""
    return Labelled({"namespace": "shop", "job": "clicks", **labels}, ((NOW, value),))


ANSWERS = {
    "timestamp(sluice_agent_info": [one(NOW.timestamp() - 7)],
    "sum_over_time": [one(55), Labelled({"pod": "x"}, ((NOW, 3.0),))],
    "count_over_time": [one(60)],
    "avg_over_time": [one(0.8, sli="latency"), one(1, sli="availability")],
}


def fleet(window: str = "1h") -> Fleet:
    """shop/clicks with an objective over a window, and a job without any."""
    whole = Fleet()
    whole.see_job(resource(slo={"window": window}, created=NOW - timedelta(days=40)))
    whole.see_job(resource("views"))
    return whole


async def asked(
    metrics: MemoryMetrics, namespaces: tuple[str, ...] = (), window: str = "1h"
) -> Measurement | Unmeasured:
    """What is known of shop/clicks after one round."""
    measuring = Measuring(metrics, fleet(window), FixedClock(), namespaces=namespaces)
    await measuring.ask(metrics)
    return measuring.of(CLICKS)


async def test_all_that_is_told_of_a_job_is_put_together() -> None:
    assert await asked(MemoryMetrics(ANSWERS)) == Measurement(
        at=NOW,
        scraped=NOW - timedelta(seconds=7),
        good=55,
        known=60,
        recent={"latency": 0.8, "availability": 1},
    )


async def test_minutes_are_counted_over_each_jobs_own_window() -> None:
    metrics = MemoryMetrics(ANSWERS)
    await asked(metrics)
    windows = [query for query in metrics.asked if "sum_over_time" in query]
    assert len(windows) == 1
    assert "[3600s]" in windows[0]


async def test_of_a_job_that_was_made_again_only_its_own_minutes_are_counted() -> None:
    again = fleet(window="28d")
    again.see_job(resource(slo={"window": "28d"}, created=NOW - timedelta(hours=2)))
    answers = {"sum_over_time": [one(28_920)], "count_over_time": [one(29_920)]}
    own = {
        f'{kind}_over_time(job:sluice_slo_good:slice{{sli="all"}}[7200s]': [one(value)]
        for kind, value in (("sum", 119), ("count", 120))
    }
    metrics = MemoryMetrics({**own, **answers})
    measuring = Measuring(metrics, again, FixedClock())
    await measuring.ask(metrics)
    told = measuring.of(CLICKS)
    assert isinstance(told, Measurement)
    assert (told.good, told.known) == (119, 120)


@pytest.mark.parametrize(
    ("declared", "seconds"), [("400ms", "60"), ("200000d", "315360000"), ("999999d", "315360000")]
)
async def test_no_jobs_window_makes_a_question_that_is_refused_for_all_jobs(
    declared: str, seconds: str
) -> None:
    metrics = MemoryMetrics(ANSWERS)
    await asked(metrics, window=declared)
    windows = [query for query in metrics.asked if "sum_over_time" in query]
    assert len(windows) == 1
    assert f"[{seconds}s]" in windows[0]


async def test_an_operator_of_some_namespaces_asks_about_these_alone() -> None:
    metrics = MemoryMetrics(ANSWERS)
    await asked(metrics, namespaces=("shop", "bank"))
    about_jobs = [query for query in metrics.asked if query != "vector(1)"]
    assert all('namespace=~"shop|bank"' in query for query in about_jobs)


async def test_nothing_told_is_no_zero() -> None:
    assert await asked(MemoryMetrics({})) == Measurement(at=NOW)


async def test_the_difference_of_the_clocks_is_taken_from_the_answer() -> None:
    told = await asked(MemoryMetrics(ANSWERS, at=NOW + timedelta(minutes=10)))
    assert isinstance(told, Measurement)
    assert told.ahead == timedelta(minutes=10)


async def test_a_server_that_goes_away_takes_the_old_answers_with_it_and_may_come_back() -> None:
    metrics = MemoryMetrics(ANSWERS)
    measuring = Measuring(metrics, fleet(), FixedClock())
    await measuring.ask(metrics)
    metrics.is_away = True
    await measuring.ask(metrics)
    assert measuring.of(CLICKS) == Unmeasured("PrometheusUnavailable", "nobody there.")
    metrics.is_away = False
    await measuring.ask(metrics)
    assert isinstance(measuring.of(CLICKS), Measurement)


async def test_without_a_server_nothing_is_asked() -> None:
    measuring = Measuring(None, fleet(), FixedClock())
    await measuring.run()
    assert measuring.of(CLICKS) == NOT_CONFIGURED
