"""What the operator must remember of a job across its own restarts: kept in the job's status.

It is written before anything is done because of it, so that a crash in between is harmless.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from sluice.core.application import StreamJob
from sluice.core.changes import NO_CHANGE, Change
from sluice.core.chosen import Chosen, Decided
from sluice.core.conditions import Claim
from sluice.core.drilling.records import Answer
from sluice.core.measurement import Attained
from sluice.core.observations import ProfilingOutlook
from sluice.core.proving import Proving
from sluice.core.recoveries import CHOSEN, Recoveries
from sluice.core.resizing import Resize
from sluice.core.series import NoData
from sluice.core.staffing import Room, Staffing


class Phase(StrEnum):
    """One word for people; the conditions say the rest."""

    INVALID = "Invalid"
    """The spec cannot be carried out."""
    REFUSED = "Refused"
    """Another job has the checkpoint."""
    PENDING = "Pending"
    """The driver pod exists and does not run yet."""
    STARTING = "Starting"
    """The driver runs; no query has committed a batch yet, or caught up without one."""
    RUNNING = "Running"
    """Queries are active."""
    STOPPING = "Stopping"
    """The driver has been asked to stop."""
    BACKING_OFF = "BackingOff"
    """The driver failed, or could not be made; the next start waits."""
    FAILED = "Failed"
    """The driver failed as often as spec.restart allows."""
    SUSPENDED = "Suspended"
    """Stopped by spec.suspend; the checkpoint is kept."""
    PAUSED = "Paused"
    """No driver runs, and the operator was told to leave the job alone."""


ANOTHER_WRITER = "AnotherWriter"
"""The reason of a driver's end after which no other one is started unasked: rows might be delivered twice."""

PUT_OFF = "StartBackOff"
"""The reason of a start that the cluster cannot do now, and that is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an incarnation of the driver ended unasked, and under which generation of the spec.

    Or why its start is put off; `at` is then since when starts are.
    """

    incarnation: int
    generation: int
    reason: str
    message: str
    at: datetime
    exit_code: int | None = None
    fingerprint: str = ""

    def is_answered_by(self, job: StreamJob) -> bool:
        """Whether what is declared now is another try.

        After another writer was found, it is not if a person may not know of it: an autoscaler changes numbers of
        executors, too.
        """
        if self.reason == ANOTHER_WRITER and self.fingerprint:
            return self.fingerprint != job.fingerprint
        return self.generation != job.generation

    @property
    def is_put_off(self) -> bool:
        """Whether no driver has failed: the cluster just could not make this one."""
        return self.reason == PUT_OFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The memory of one job.

    `incarnation` counts the drivers that were ever started; 0 means none. `failures` counts those
    in a row that ended unasked, of which `last_failure` is the newest, if it is no start that was put off. `next_start`
    bars a start until then. `stopping` says why the present driver was asked to stop. `checkpoint` is the location this
    job holds. `gave_up` says that it is not started again before its spec changes. `ended` is the newest incarnation
    whose process is known to be dead, because the kubelet told how it ended.
    """

    incarnation: int = 0
    failures: int = 0
    last_failure: Failure | None = None
    next_start: datetime | None = None
    stopping: str | None = None
    checkpoint: str | None = None
    last_batch: int | None = None
    last_commit: datetime | None = None
    log_format: str | None = None
    pinned: Mapping[str, str] = field(default_factory=dict)
    """The version of the checkpoint's offset log, and the settings that it fixes, once they have been read."""
    change: Change = NO_CHANGE
    gave_up: bool = False
    ended: int = 0
    decided: Decided | None = None
    """The newest decision, as far as the status tells it."""
    attained: Attained | NoData | None = None
    """How the objective is kept, or why that is not known; None if there is none, or nobody was asked."""
    profiling: ProfilingOutlook | None = None
    """How the job is profiled by itself, if that is enabled and was looked at."""
    chosen: Chosen | None = None
    """The number of executors that was decided upon, if the operator may choose it."""
    staffing: Staffing | None = None
    """What became of the last rescale, if there was one."""
    room: Room | None = None
    """How many executors there was room for, if they were fewer than chosen."""
    recoveries: Recoveries = field(default_factory=Recoveries)
    proving: Proving = field(default_factory=Proving)
    resize: Resize | None = None
    """The CPU that the executors of the present driver are to have without a restart."""
    drill: Answer | None = None
    """The answer to the drill that is asked for."""
    conditions: tuple[Claim, ...] = ()

    @property
    def is_restarting(self) -> bool:
        """Whether the job is away because the operator chose so, and nothing has failed since."""
        present, failure = self.recoveries.present, self.last_failure
        if present is None or present.cause not in CHOSEN or present.committed is not None:
            return False
        return failure is None or failure.is_put_off or failure.at < present.began

    def with_start(self, checkpoint: str) -> "Record":
        """The intent to start the next incarnation."""
        stays, moves = checkpoint == self.checkpoint, self.checkpoint not in (None, checkpoint)
        return replace(
            self,
            last_batch=None if moves else self.last_batch,
            last_commit=None if moves else self.last_commit,
            log_format=self.log_format if stays else None,
            pinned=self.pinned if stays else {},
            incarnation=self.incarnation + 1,
            checkpoint=checkpoint,
            stopping=None,
            change=NO_CHANGE,
            next_start=None,
        )

    def with_failure(self, failure: Failure, next_start: datetime) -> "Record":
        """One more failure in a row; the next start waits."""
        return replace(
            self, failures=self.failures + 1, last_failure=failure, next_start=next_start
        )

    def forgiven(self) -> "Record":
        """No failures in a row: the driver has proved itself, or the spec has changed."""
        return replace(self, failures=0, next_start=None, gave_up=False)

    def retried(self, job: StreamJob) -> "Record":
        """The spec that was given up, as one that is declared anew, if a person asks for another try."""
        proving = self.proving.retried(job)
        if proving is self.proving:
            return self
        return replace(self if proving.rollback else self.forgiven(), proving=proving)

    def inherits(self, checkpoint: str) -> bool:
        """Whether the last driver is known to be dead, so that the next one may have its Lease at once."""
        return 0 < self.incarnation <= self.ended and self.checkpoint == checkpoint

    def has_counted(self, incarnation: int) -> bool:
        """Whether the end of this incarnation is already among the failures."""
        last = self.last_failure
        return last is not None and last.incarnation == incarnation and not last.is_put_off
