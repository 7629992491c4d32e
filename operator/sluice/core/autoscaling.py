"""A job's declaration in the terms of deciding: bounds and targets, the policy, and how far the guards let it go."""

from datetime import datetime
from typing import Any

from sluice.core import failures
from sluice.core.application import StreamJob
from sluice.core.deciding.decision import Policy
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies.keda_lag import LATENESS
from sluice.core.deciding.policies.named import policy_named
from sluice.core.deciding.situation import NEVER, Bounds, Models, Targets
from sluice.core.learning.experience import SETTLING
from sluice.core.learning.terms import Terms
from sluice.core.measurement import Measurement, Unmeasured, attained
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.downtime import Cause
from sluice.core.observations import AgentReport, Processing
from sluice.core.series import NoData

LEAD = 300.0
"""Seconds: what is needed within that time is needed now."""

PERCENTILE = 0.95
"""Of the latency that is decided by, where no bound is declared."""


def terms_of(job: StreamJob, report: AgentReport | None) -> Terms:
    """What is declared of a job, and what its program does by the word of its agent."""
    queries = report.counting if report is not None else ()
    periods = [query.trigger_seconds for query in queries if query.trigger_seconds is not None]
    limits = [query.most_rows for query in queries if query.most_rows is not None]
    return Terms(
        bounds=Bounds(smallest=job.executors.minimum, largest=job.executors.maximum),
        targets=Targets(
            latency=job.latency.bound.total_seconds() if job.latency else None,
            recovery=job.recovery_target.total_seconds() if job.recovery_target else None,
            throughput=job.throughput,
        ),
        mode=job.scaling.mode,
        period=max(periods, default=0.0),
        most_rows=sum(limits) if limits and len(limits) == len(queries) else None,
        fetching=report.fetching if report is not None else None,
        settling=max(SETTLING, job.scaling.stabilisation.total_seconds()),
    )


def percentile_of(job: StreamJob) -> float:
    """The share of the records by whose latency is decided."""
    return job.latency.percentile if job.latency else PERCENTILE


def pause_of(job: StreamJob) -> float:
    """The seconds after which a driver that was lost is started again, if it is the first failure in a row."""
    return failures.backoff(job.restart, 1, job.uid).total_seconds()


def policy_of(job: StreamJob, models: Models) -> Policy:
    """The declared policy, with what its authors leave to the user taken from the declaration and what was learned."""
    return policy_named(job.scaling.policy, **_parameters(job, models))


def settings_of(
    job: StreamJob,
    told: Measurement | Unmeasured,
    report: AgentReport | None = None,
    *,
    approved: int | None = None,
    room: int | None = None,
) -> Settings:
    """How far the guards let the policy go; there is `room` for so many executors, if that is known to be a limit."""
    return Settings(
        blackouts=job.scaling.blackouts,
        error_budget=_budget_left(job, told),
        approved=approved,
        grant=room,
        untold=_untold(report) if report is not None else None,
    )


_REAL_TIME = "runs in real-time mode: its batches last as long as its trigger says"


def _untold(report: AgentReport) -> str | None:
    """Why the job's batches do not tell what executors can do for it."""
    by_trigger = (
        f"query {query.name!r} {query.arrivals_untold or _REAL_TIME}"
        for query in report.running
        if query.processing is not Processing.BATCHES
    )
    why = next(by_trigger, report.arrivals_untold)
    if why is not None:
        return f'{why}; with spec.scaling.mode "Off", kubectl scale gives it the cores for all its tasks'
    if report.failing is not None and report.failing.is_by_the_work:
        return "most tasks of the batch in flight fail, and others would not mend that"
    return None


def seconds_unseen(told: Measurement | Unmeasured, now: datetime) -> float:
    """The age of what the metrics' server has of a job."""
    if isinstance(told, Unmeasured) or told.scraped is None:
        return NEVER
    return max(0.0, (now - (told.scraped - told.ahead)).total_seconds())


def _parameters(job: StreamJob, models: Models) -> dict[str, Any]:
    horizon = job.scaling.horizon.total_seconds()
    stabilisation = {"stabilisation": job.scaling.stabilisation.total_seconds()}
    recovery = job.recovery_target
    target = {} if recovery is None else {"target": recovery.total_seconds()}
    match job.scaling.policy:
        case "sluice":
            objective = {} if job.objective is None else {"objective": job.objective.share}
            return {"horizon": horizon, "lead": min(LEAD, horizon), **stabilisation, **objective}
        case "phoebe":
            downtime = models.downtimes.of(Cause.DRIVER_LOSS).quantile(0.5)
            return {"horizon": horizon, "downtime": downtime, **target}
        case "twres":
            latency = {} if job.latency is None else {"latency": job.latency.bound.total_seconds()}
            return {"horizon": horizon, **latency}
        case "daedalus":
            downtime = models.downtimes.of(Cause.GROWTH_LIVE).quantile(0.5)
            return {
                "horizon": horizon,
                "downtime_up": downtime,
                "downtime_down": downtime,
                **target,
            }
        case "static":
            return {"executors": job.executors.initial}
        case "keda-lag":
            return {**_threshold(job, models.capacity.fitted()), **stabilisation}
        case "hpa" | "flink-autoscaler":
            return stabilisation
        case _:
            return {}


def _threshold(job: StreamJob, capacity: Capacity | NoData) -> dict[str, float]:
    if isinstance(capacity, NoData):
        return {}
    largest = job.executors.maximum
    rate = capacity.rate(largest)
    # A line through what was measured of more executors than are allowed now may say that these do nothing.
    return {"threshold": LATENESS * rate / largest} if rate > 0 else {}


def _budget_left(job: StreamJob, told: Measurement | Unmeasured) -> float | None:
    """Seconds that the objective may still be missed."""
    if job.objective is None:
        return None
    account = attained(job.objective, told, job.created)
    if isinstance(account, NoData):
        return None
    left = account.budget.left * account.budget.allowed
    return left * job.objective.slice.total_seconds()
