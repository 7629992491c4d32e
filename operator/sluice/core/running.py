"""What a job's driver runs, where something else is declared: that waits, was refused, or was rolled back."""

from dataclasses import replace
from typing import Any

from sluice.core.application import TASK_CPUS, Executors, StreamJob
from sluice.core.changes import ChangeClass
from sluice.core.observations import DriverPod
from sluice.core.record import Record


def executors_of(job: StreamJob, driver: DriverPod | None) -> Executors:
    """The job's executors, with the cores and slots that those of its driver have; without one, those declared.

    A live change of their CPU changes neither.
    """
    if driver is None or driver.document == job.document:
        return job.executors
    document: Any = driver.document
    try:
        cores = int(document["executors"]["cores"])
        conf = document["application"].get("sparkConf") or {}
        slots = cores // int(conf.get(TASK_CPUS, 1))
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        # Written by a release with other rules, or by whoever may write pods: what is declared is the best guess.
        return job.executors
    return replace(job.executors, cores=cores, slots=slots) if slots > 0 else job.executors


def is_as_declared(job: StreamJob, record: Record) -> bool:
    """Whether what is declared is what runs, or what it can become without another driver."""
    waits = record.change.kind in (ChangeClass.RESTART, ChangeClass.MIGRATION)
    return not waits and not record.proving.has_given_up(job)
