"""What the lab's profile tells of a plant."""

import pytest

from sluice.core.series import NoData
from sluice.core.simulation.metrics import Metrics
from sluice.core.simulation.plant import PLANTS
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
