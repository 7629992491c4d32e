"""Moments as Kubernetes writes them."""

from datetime import UTC, datetime


def moment_text(moment: datetime | None, timespec: str = "milliseconds") -> str | None:
    """A moment as text, if there is one."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def read_moment(text: str | None) -> datetime | None:
    """A moment that was written so, or by anybody: without a zone it is in UTC, and what is none is None."""
    try:
        moment = datetime.fromisoformat(text) if text else None
    except (TypeError, ValueError):
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
