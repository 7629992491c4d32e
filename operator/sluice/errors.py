"""What can go wrong outside, and what the caller should do about it.

    SluiceError
      InvalidSpec           the user must change something        -> condition, no retry
      Unavailable           a system did not answer, or refused   -> retry with back-off
        ClusterUnavailable
          Declined          nothing was done, which is certain    -> the same
            NotAllowed      the operator lacks the right          -> the same, or without it
        AgentUnavailable
        MetricsUnavailable
      Conflict              someone else wrote first              -> read again, at once
      NameTaken             what is there is somebody else's      -> tell the user, try again
        NotYetGone          it is about to go                     -> try again
      NotFound              the object is not there (any more)    -> read again
      CorruptState          what was stored cannot be read        -> start afresh, say so

An expected lack of something is a value, not one of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a spec: where, what was found there, and what would be right."""

    field: str
    value: object
    remedy: str

    def __str__(self) -> str:
        shown = "" if self.value is None else f"{self.value!r}: "
        return f"{self.field}: {shown}{self.remedy}"


class SluiceError(Exception):
    """The root of all errors that Sluice raises on purpose."""


class InvalidSpec(SluiceError):
    """The user's declaration cannot be carried out as it stands."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in problems))

    def __reduce__(self) -> tuple[type["InvalidSpec"], tuple[Sequence[Problem]]]:
        """From another process it comes with its problems; by default, its words would be taken for them."""
        return InvalidSpec, (self.problems,)


class Unavailable(SluiceError):
    """A system outside did not answer in time, or answered that it cannot."""


class ClusterUnavailable(Unavailable):
    """The Kubernetes API did not answer, or refused for a reason that may pass."""


class Declined(ClusterUnavailable):
    """The Kubernetes API answered that it does not do that now, for a reason that may pass; it has done nothing.

    After other errors what was asked for may have been done, or be done yet.
    """


class NotAllowed(Declined):
    """The Kubernetes API does not let the operator do that: a right is missing, which may come."""


class AgentUnavailable(Unavailable):
    """The agent in a driver did not answer."""


class MetricsUnavailable(Unavailable):
    """The metrics' server did not answer, or with something that is no answer."""


class Conflict(SluiceError):
    """Another writer was first: what was read is no longer true."""


class NameTaken(SluiceError):
    """An object of that name is there, and is not ours to write."""


class NotYetGone(NameTaken):
    """It was made for somebody who is gone, and goes by itself."""


class NotFound(SluiceError):
    """The object does not exist."""


class CorruptState(SluiceError):
    """What was learned and stored is damaged, or of a version that this release does not know."""
