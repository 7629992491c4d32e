"""What the lab's profile tells of a plant."""

from dataclasses import replace

import pytest

from sluice.core.modelling.downtime import Cause
from sluice.core.series import NoData
from sluice.core.simulation.metrics import Metrics
from sluice.core.simulation.plant import PLANTS, STATEFUL, Plant
from sluice.core.simulation.profiling import profiled
from tests.simulation.plants import job

HOUR = 3600


@pytest.mark.parametrize("name", sorted(PLANTS))
def test_a_profile_tells_the_latency_of_a_job_that_has_settled(name: str) -> None:
    plant = PLANTS[name]
    experience, _ = profiled(plant, seed=1)
    points = experience.models.latency.profiled
    assert len(points) == 2
    for point in points:
        settled = job(plant, point.rate, point.executors, seconds=HOUR)
        settled.advance(HOUR)
        scrape = Metrics(settled, seed=1).scrape()
        assert scrape
        assert not isinstance(scrape.latency, NoData)
        assert point.seconds == pytest.approx(scrape.latency, rel=0.2)


@pytest.mark.parametrize(
    "plant", [replace(STATEFUL, driver_loss=600.0), replace(STATEFUL, state_reload=200.0)]
)
def test_a_profile_waits_for_a_job_that_is_away_for_long(plant: Plant) -> None:
    experience, _ = profiled(plant, seed=1)
    away = plant.driver_loss + plant.cold + plant.state_reload
    (observed,) = experience.models.downtimes.causes[Cause.DRIVER_LOSS].observed
    assert observed == pytest.approx(away, rel=0.2)


def test_an_outage_without_end_is_left_to_the_copy() -> None:
    plant = replace(STATEFUL, spread=3.0, driver_loss=600.0)
    profiles = [profiled(plant, seed)[0] for seed in range(5)]
    assert all(found.outage is None for found in profiles)
