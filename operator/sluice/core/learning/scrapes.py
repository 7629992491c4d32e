"""What is seen of a job at a moment."""

from dataclasses import dataclass

from sluice.core.learning.batches import BatchReport
from sluice.core.learning.starts import Start
from sluice.core.series import Measured, NoData

NOT_TOLD = NoData("the agent does not tell")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """Rates in rows per second and shares of the time or of the processors are those since the scrape before.

    `latency` is in seconds, at the objective's percentile, of the last two minutes. `batches` are those since the
    scrape before. `start` is that of the driver; None where it is not told. The newest batch is `in_flight` for so many
    seconds, 0 if none is, and tasks that wait for a core would keep so many more executors busy (`queued`). `state` are
    the rows of state.
    """

    at: float
    arrival: Measured
    processing: Measured
    lag: Measured
    running: int
    cpu: Measured
    busy: Measured
    latency: Measured
    batches: tuple[BatchReport, ...]
    start: Start | None = None
    in_flight: Measured = NOT_TOLD
    queued: Measured = NOT_TOLD
    state: Measured = NOT_TOLD

    @property
    def is_idle(self) -> bool:
        """Whether the driver tells that no row waits, and no batch runs or has run since the scrape before."""
        if isinstance(self.lag, NoData) or self.lag >= 1 or self.batches:
            return False
        return isinstance(self.in_flight, NoData) or self.in_flight <= 0
