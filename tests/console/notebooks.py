"""A job's notebook with decisions as the operator keeps them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sluice.core.application import StreamJob
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.situation import Mode, Situation
from sluice.core.deciding.storing import Record
from sluice.manifests.notebook import Notebook, notebook_map
from sluice.ports import CONFIG_MAPS
from tests.console import resources
from tests.console.serving import FakeCluster
from tests.support.jobs import NOW, job
from tests.unit.core.deciding.situations import steady

Json = dict[str, Any]

GREW = "20260301T110000Z"
STAYED = "20260301T115900Z"

GREW_TO = Sluice()(steady(100_000, executors=2)).executors
"""What our policy wants for the load of these decisions."""


def situation(at: datetime, executors: int, **changes: Any) -> Situation:
    """A job with 100,000 rows/s, which eight executors could process."""
    return replace(steady(100_000, executors=executors), at=at.timestamp(), **changes)


def decision(at: datetime, executors: int, **changes: Any) -> Json:
    """A decision of ours as it is stored."""
    record = Record(
        situation=situation(at, executors, **changes), policy=Sluice(), settings=Settings()
    )
    return dict(record.to_data())


def notebook(others: Mapping[str, Json], of: StreamJob | None = None) -> Json:
    """A ConfigMap with one decision that made the job grow an hour ago, and one that changed nothing a minute ago."""
    grown = decision(NOW - timedelta(hours=1), 2)
    last = decision(NOW - timedelta(minutes=1), 14, mode=Mode.OBSERVE)
    kept = {GREW: {**grown, "keep": True}, STAYED: {**last, "keep": False}, **others}
    return notebook_map(of or job(), Notebook(memory={"version": 1}, decisions=kept))


def keeps(cluster: FakeCluster, **others: Json) -> None:
    """A scaled job, and its notebook."""
    cluster.stores(resources.scaled())
    cluster.objects.put(CONFIG_MAPS, notebook(others))
