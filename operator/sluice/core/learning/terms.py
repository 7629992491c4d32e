"""What holds of a job without being observed."""

from dataclasses import dataclass, field

from sluice.core.deciding.situation import Bounds, Mode, Targets
from sluice.core.modelling.fetching import Fetching

SETTLED = 300.0
"""Seconds after which the effect of a rescale is judged: by then a policy may think otherwise, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a job's owner has declared of it, and what its program does: all that does not have to be observed.

    `period` is that of the trigger in seconds, 0 if a batch follows the other at once; `most_rows` the limit of a
    batch; `fetching` what its tasks wait for, None if that is not known. `live` says whether executors come and go
    without a restart. A rescale is judged after `settling` seconds. `epoch` is when the clock of all moments began, in
    seconds since 1970.
    """

    bounds: Bounds
    targets: Targets = field(default_factory=Targets)
    mode: Mode = Mode.AUTO
    period: float = 0.0
    most_rows: float | None = None
    fetching: Fetching | None = None
    live: bool = True
    settling: float = SETTLED
    epoch: float = 0.0
