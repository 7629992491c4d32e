"""Limit how many jobs the operator restarts at once of its own accord.

A new image of a hundred jobs, or a drained node, must not take a hundred streams away together. What recovers from a
failure waits for nobody. Who restarts is read from the records, so that a successor counts the same.
"""

from datetime import datetime

from sluice.core.application import JobKey
from sluice.core.record import Record
from sluice.core.recoveries import LONGEST_RESTART


class Restarts:
    """The jobs that are away because the operator chose to restart them."""

    def __init__(self, limit: int = 10) -> None:
        self._limit = limit
        self._since: dict[JobKey, datetime] = {}

    def note(self, key: JobKey, record: Record) -> None:
        """What the newest record of a job says."""
        present = record.recoveries.present
        if present is not None and record.is_restarting:
            self._since[key] = present.began
        else:
            self.forget(key)

    def forget(self, key: JobKey) -> None:
        """The job is gone."""
        self._since.pop(key, None)

    def forget_all(self) -> None:
        """Another one may have led since; what still restarts is told by the records."""
        self._since.clear()

    def crowd(self, key: JobKey, now: datetime) -> int:
        """How many other jobs restart, if they are as many as may; 0 if this one may restart, too."""
        away = sum(
            now - since < LONGEST_RESTART for other, since in self._since.items() if other != key
        )
        return away if away >= self._limit else 0
