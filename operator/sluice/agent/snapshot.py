"""One immutable picture of the driver, which the poller replaces and the HTTP threads read."""

from __future__ import annotations

from dataclasses import dataclass, field

from sluice.agent.executors import Executors
from sluice.agent.records import Record
from sluice.agent.settings import Settings
from sluice.agent.spark import Application

WAITING = "waiting"
STARTING, RUNNING, STOPPING, FINISHED = "starting", "running", "stopping", "finished"


@dataclass(frozen=True)
class Snapshot:
    """The job at one instant. `waiting` is for the Lease of the checkpoint; `starting` lasts until the first query
    was started, which was at `running_at`. `started_at` is when nothing held the program up any more.
    """

    settings: Settings
    started_at: float
    taken_at: float
    phase: str = STARTING
    application: Application | None = None
    executors: Executors = field(default_factory=Executors)
    records: tuple[Record, ...] = ()
    running_at: float | None = None
