"""What is known of one job: its resource, what was told of it, and how it went lately. As data for scripts, too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sluice.console import queries
from sluice.console.job import Job
from sluice.console.queries import Query
from sluice.console.trends import Trend
from sluice.ports import Json

MOST_EVENTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that was told of the job."""

    at: datetime
    reason: str
    message: str
    is_warning: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lately:
    """What Prometheus tells; `lack` says why it tells nothing."""

    span: timedelta
    trends: Mapping[str, Trend] = field(default_factory=dict)
    queries: Sequence[Query] = ()
    burn_rate: float | None = None
    lack: str = ""

    @property
    def has_several_queries(self) -> bool:
        """Whether the numbers of the job are sums of several, or the worst of them."""
        return len(self.queries) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A job with what is known beside its resource."""

    job: Job
    now: datetime
    lately: Lately
    events: Sequence[Event] = ()
    events_lack: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be seen, and why."""
        history = f"No history: {self.lately.lack}" if self.lately.lack else ""
        events = f"No events: {self.events_lack}" if self.events_lack else ""
        return tuple(filter(None, (history, events)))


def events_of(found: Sequence[Mapping[str, Any]]) -> tuple[Event, ...]:
    """The newest events, oldest first."""
    events = [
        Event(
            at=datetime.fromisoformat(_stamp(one)),
            reason=one.get("reason") or "",
            message=one.get("message") or "",
            is_warning=one.get("type") == "Warning",
        )
        for one in found
    ]
    return tuple(sorted(events, key=lambda one: one.at)[-MOST_EVENTS:])


def data(sight: Sight) -> Json:
    """The status as it is stored, and what is known beside it."""
    job, lately = sight.job, sight.lately
    return {
        "namespace": job.namespace,
        "name": job.name,
        "fine": job.is_fine,
        "phase": job.phase,
        "why": job.why,
        "slo": job.spec.get("slo"),
        "status": dict(job.status),
        "burnRate": lately.burn_rate,
        "spanSeconds": lately.span.total_seconds(),
        "trends": {name: list(trend.values) for name, trend in lately.trends.items()},
        "queries": [queries.data(one) for one in lately.queries],
        "events": [_event_data(one) for one in sight.events],
        "notes": list(sight.notes),
    }


def _event_data(event: Event) -> Json:
    return {
        "at": event.at.isoformat(),
        "type": "Warning" if event.is_warning else "Normal",
        "reason": event.reason,
        "message": event.message,
    }


def _stamp(event: Mapping[str, Any]) -> str:
    # Which one is set depends on the API that the event was written with.
    return str(
        event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"]["creationTimestamp"]
    )
