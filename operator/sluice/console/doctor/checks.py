"""What a check finds, as a value, as a line for people and as data for scripts."""

from dataclasses import dataclass
from enum import StrEnum

from sluice.console.page import Line, Tone
from sluice.ports import Json


class Verdict(StrEnum):
    """How it is. The words are what scripts and grep find."""

    FINE = "ok"
    ODD = "warn"
    """It works, and somebody should look at it."""
    BAD = "FAIL"
    UNKNOWN = "skip"
    """It could not be examined."""


_TONES = {
    Verdict.FINE: Tone.GOOD,
    Verdict.ODD: Tone.ODD,
    Verdict.BAD: Tone.BAD,
    Verdict.UNKNOWN: Tone.QUIET,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was examined: what of, how it is, what was found, and how to mend that."""

    subject: str
    verdict: Verdict
    found: str
    remedy: str = ""

    def lines(self) -> tuple[Line, ...]:
        """For people: the finding, and below it the remedy."""
        tone = _TONES[self.verdict]
        finding = Line(cells=(self.subject, self.verdict), detail=self.found, tone=tone)
        if not self.remedy:
            return (finding,)
        return (finding, Line(cells=("", "->"), detail=self.remedy, tone=Tone.QUIET, toned=2))

    def data(self) -> Json:
        """For scripts."""
        return {
            "subject": self.subject,
            "verdict": str(self.verdict),
            "found": self.found,
            "remedy": self.remedy,
        }


def fine(subject: str, found: str) -> Check:
    """All is well."""
    return Check(subject=subject, verdict=Verdict.FINE, found=found)


def odd(subject: str, found: str, remedy: str) -> Check:
    """It works, but."""
    return Check(subject=subject, verdict=Verdict.ODD, found=found, remedy=remedy)


def bad(subject: str, found: str, remedy: str) -> Check:
    """It does not work."""
    return Check(subject=subject, verdict=Verdict.BAD, found=found, remedy=remedy)


def unknown(subject: str, found: str, remedy: str = "") -> Check:
    """It could not be examined."""
    return Check(subject=subject, verdict=Verdict.UNKNOWN, found=found, remedy=remedy)
