"""Decide whether a Lease may be taken: it is free, it is ours, or its holder has let it run out by our own clock.

A holder's clock says nothing to us, so a Lease has run out when it was seen unchanged for as long as it lasts. The
identity of a holder is "UID/INCARNATION" of its job. A later incarnation of the same job is proof that this driver was
given up, and must never write again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sluice.agent.lease import Lease

MARGIN = 0.1
"""The part of a Lease's time that a holder keeps back: it must be dead before anybody may take over."""

RENEWALS = 6
"""How often a Lease is renewed within its time."""


@dataclass(frozen=True)
class Identity:
    """A job and one incarnation of its driver."""

    uid: str
    incarnation: int

    def __str__(self) -> str:
        return f"{self.uid}/{self.incarnation}"

    def is_older_than(self, holder: str) -> bool:
        """Whether the holder is a later incarnation of the same job."""
        uid, _, incarnation = holder.rpartition("/")
        return uid == self.uid and incarnation.isdecimal() and int(incarnation) > self.incarnation


@dataclass(frozen=True)
class Claim:
    """Somebody else's Lease as it was seen first, and when by our clock."""

    holder: str
    renewed: str
    since: float


@dataclass(frozen=True)
class Free:
    """The Lease may be taken."""


@dataclass(frozen=True)
class Superseded:
    """This driver was given up."""

    holder: str


@dataclass(frozen=True)
class Held:
    """The Lease is somebody else's, at least for so many seconds."""

    claim: Claim
    seconds: float


def judged(
    lease: Lease, me: Identity, before: Claim | None, now: float
) -> Free | Held | Superseded:
    """What a Lease that was just read means for a driver that wants it."""
    if lease.holder in ("", str(me)):
        return Free()
    if me.is_older_than(lease.holder):
        return Superseded(lease.holder)
    claim = Claim(lease.holder, lease.renewed, now)
    if before is not None and replace(before, since=now) == claim:
        claim = before
    left = claim.since + lease.seconds - now
    return Held(claim, left) if left > 0 else Free()


def deadline(renewed: float, seconds: float) -> float:
    """When a holder must be dead, if its last renewal that succeeded was begun at `renewed`."""
    return renewed + seconds * (1 - MARGIN)
