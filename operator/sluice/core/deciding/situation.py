"""All that a decision is made from: what is measured now, what was, what is forecast, and what was learned.

Times are seconds from now, the past is negative; rates are rows per second. What could not be measured is `NoData`
with its reason, never a zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sluice.core.deciding.harms import Harm
from sluice.core.forecasting.forecast import Forecast as Forecast
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Downtimes
from sluice.core.modelling.fetching import Fetching
from sluice.core.modelling.latency import LatencyModel
from sluice.core.modelling.shapes import part_of_each
from sluice.core.series import Measured, NoData

NEVER = 1e9
"""The age in seconds of what was never measured: 31 years, and a number in JSON, too."""

NOT_MEASURED = NoData("not measured")
NOT_FORECAST = NoData("nothing was forecast")


class Activity(StrEnum):
    """What the job is busy with."""

    STEADY = "Steady"
    STARTING = "Starting"
    RESCALING = "Rescaling"
    RECOVERING = "Recovering"
    """After a failure, until the lag is back where it was."""


class Mode(StrEnum):
    """What becomes of a decision (spec.scaling.mode)."""

    OFF = "Off"
    OBSERVE = "Observe"
    APPROVE = "Approve"
    AUTO = "Auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The numbers of executors that are allowed, both ends included."""

    smallest: int
    largest: int

    def __post_init__(self) -> None:
        if not 1 <= self.smallest <= self.largest:
            raise ValueError(f"{self}: 1 <= smallest <= largest")

    def clipped(self, executors: int) -> int:
        """The nearest number that is allowed."""
        return min(max(executors, self.smallest), self.largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What the owner was promised: seconds of latency and of recovery, rows per second; None is no promise."""

    latency: float | None = None
    recovery: float | None = None
    throughput: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How the query makes batches: seconds per batch on top of its rows, the trigger's period, rows per batch.

    To the `overhead` come `shared` seconds of tasks that there are without rows, too, which executors share, and what
    tasks wait for rows, of which an executor runs as many at once as it has `cores`. A period of 0 starts a batch when
    the one before has ended; `most_rows` of None is no limit.
    """

    overhead: float = 0.0
    shared: float = 0.0
    period: float = 0.0
    most_rows: float | None = None
    fetching: Fetching | None = None
    cores: int = 1

    @property
    def is_shared(self) -> bool:
        """Whether the fewer executors there are, the longer a batch takes without rows."""
        return self.shared > 0 or self.fetching is not None

    def on(self, executors: int, rate: float) -> "Batching":
        """The same on so many executors to which so many rows per second come, with all that it takes as overhead."""
        overhead = self.overhead + self.shared * part_of_each(executors)
        if self.fetching is not None:
            rest = max(self.period, overhead)
            overhead += self.fetching.usually_waited(executors * self.cores, rate, rest)
        return replace(self, overhead=overhead, shared=0.0, fetching=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What is measured of the job now.

    arrival      rows per second that arrive at the source
    processing   rows per second that are processed
    lag          rows that have arrived and are not committed
    latency      seconds, at the objective's percentile, over the last two minutes
    cpu          the busy share of the executors' processors, 0 to 1
    busy         the share of time in which a batch runs, 0 to 1
    commit_age   seconds since the last batch was committed
    batch        seconds that the last batch took
    in_flight    seconds since the batch that runs now has begun, 0 between batches
    queued       executors that would be kept busy by the tasks that wait for a core
    state        rows of state, which the executors keep
    """

    arrival: Measured = NOT_MEASURED
    processing: Measured = NOT_MEASURED
    lag: Measured = NOT_MEASURED
    latency: Measured = NOT_MEASURED
    cpu: Measured = NOT_MEASURED
    busy: Measured = NOT_MEASURED
    commit_age: Measured = NOT_MEASURED
    batch: Measured = NOT_MEASURED
    in_flight: Measured = NOT_MEASURED
    queued: Measured = NOT_MEASURED
    state: Measured = NOT_MEASURED
    age: float = 0.0
    """Seconds since the newest of these was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What was learned of the job."""

    capacity: CapacityModel = field(default_factory=CapacityModel)
    latency: LatencyModel = field(default_factory=LatencyModel)
    downtimes: Downtimes = field(default_factory=Downtimes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The executors that were wanted at a moment of the past (negative seconds), and whether that was done."""

    at: float
    executors: int
    applied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A job at one moment.

    `at` is the moment itself, in seconds since 1970. `executors` is the number that was last asked for, `running` the
    number that is there. `history` has (seconds from now, rows per second) in ascending order, and gaps where nothing
    was measured; of what is more than an hour ago policies see the largest rates. `wishes` are the former decisions, as
    far as they are kept, the oldest first; each held until the next one.
    """

    at: float
    bounds: Bounds
    executors: int
    running: int
    observed: Observations
    history: tuple[tuple[float, float], ...] = ()
    forecast: Forecast | NoData = NOT_FORECAST
    models: Models = field(default_factory=Models)
    targets: Targets = field(default_factory=Targets)
    batching: Batching = field(default_factory=Batching)
    activity: Activity = Activity.STEADY
    mode: Mode = Mode.AUTO
    uptime: float = 0.0
    """Seconds since the driver's first batch."""
    since_rescale: float | None = None
    """Seconds since executors were last changed, None if never."""
    live: bool = True
    """Whether the driver can add and remove executors without a restart."""
    wishes: tuple[Wish, ...] = ()
    notes: Mapping[str, float] = field(default_factory=dict)
    """Numbers that a policy remembers of itself from one decision to the next (`Decision.notes`)."""
    harms: tuple[Harm, ...] = ()
    """Rescales that made things worse, the oldest first."""
