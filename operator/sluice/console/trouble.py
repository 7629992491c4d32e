"""What a person at the terminal is told instead of an answer: what was wrong, what to do, and the exit code."""

from enum import IntEnum

from sluice.errors import SluiceError


class Exit(IntEnum):
    """Exit codes, for scripts."""

    FINE = 0
    PROBLEM = 1
    """The job or the installation has a problem: what was asked for was shown, or cannot be done now."""
    WRONG_USE = 2
    UNREACHABLE = 3
    """No kubeconfig, or no answer from the API server."""
    NOT_ALLOWED = 4
    NOT_FOUND = 5
    """No such job, no driver, no decision, no CRD."""
    INTERRUPTED = 130


EXIT_CODES = """\b
Exit codes:
  0  all is well (a job that is suspended on purpose counts as well)
  1  the job or the installation has a problem, or is not in a state for that
  2  wrong use, or wrong settings
  3  the cluster cannot be reached
  4  you may not do that in the cluster
  5  there is no such job, driver, decision or CRD
"""


class Trouble(SluiceError):
    """There is no answer to what was asked."""

    code = Exit.PROBLEM

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy

    def __str__(self) -> str:
        told = super().__str__()
        return f"{told}\n  {self.remedy}" if self.remedy else told


class WrongUse(Trouble):
    """What was asked for makes no sense here."""

    code = Exit.WRONG_USE


class Unreachable(Trouble):
    """The cluster did not answer, or nobody knows where it is."""

    code = Exit.UNREACHABLE


class NotNow(Trouble):
    """The cluster cannot do it in the present state of things."""


class NotAllowed(Trouble):
    """The cluster knows who asks, or not, and says no."""

    code = Exit.NOT_ALLOWED


class NotThere(Trouble):
    """The cluster has no such thing."""

    code = Exit.NOT_FOUND
