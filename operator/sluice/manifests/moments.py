"""Moments as Kubernetes writes them."""

from datetime import UTC, datetime


def moment_text(moment: datetime | None, timespec: str = "milliseconds") -> str | None:
    """A moment as text, if there is one."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def read_moment(text: str | None) -> datetime | None:
    """A moment that was written so."""
    return datetime.fromisoformat(text) if text else None
