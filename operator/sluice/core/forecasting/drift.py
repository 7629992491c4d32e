"""Whether the trusted model has failed since it was selected, and which one to ask instead.

A load may do something new: a ramp on a day like no other, a season that ends. The errors over the last horizon then
leave the range that was usual, long before the next selection. Whichever model was least wrong in that time is asked
first, and the range of its forecast grows with its error.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sluice.core.forecasting.cleaning import LEAST_STEPS, Cleaned
from sluice.core.forecasting.rolling_origin import (
    extended_radii,
    rolling_errors,
    spread_origins,
)
from sluice.core.forecasting.selection import SHORT_MEMORY, Candidate, Selection, models

MOMENTS = 5
"""Moments of the last horizon from which a forecast is compared with what came."""

DRIFTED = 1.5
"""Recent errors of so many times the range mean drift; where all is well they are 0.6 of it on average."""

USUAL = 0.8
"""Recent errors of more than so much of the range say that it is too small now."""

BETTER = 0.8
"""Another model is asked first if its recent error is less than this share of the trusted one's."""

NOTICED = 0.002
"""Errors below that share of the mean load are no drift."""

WIDEST = 4.0
"""The range of a forecast grows by no more than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """How wrong a candidate was over the last horizon: on average, and as a share of its usual range."""

    candidate: Candidate
    error: float
    excess: float
    reason: str = ""
    """Why it is asked before the trusted one."""

    @property
    def widening(self) -> float:
        """The factor by which its usual range is too small now."""
        return min(max(1.0, self.excess / USUAL), WIDEST)


def in_order_of_trust(selection: Selection, cleaned: Cleaned, steps: int) -> Iterator[Recent]:
    """The candidates in the order in which to ask them; each is examined only when it is asked for."""
    recent = functools.partial(_recent, cleaned=cleaned, steps=steps)
    trusted = recent(selection.candidate(selection.trusted))
    others = [candidate for candidate in selection.candidates if candidate is not trusted.candidate]
    if trusted.excess <= DRIFTED:
        yield trusted
        yield from map(recent, others)
        return
    reason = f"{trusted.candidate.model} errs by {trusted.excess:.1f} times its usual range"
    short = [recent(other) for other in others if other.model in SHORT_MEMORY]
    better = [other for other in short if other.error < BETTER * trusted.error]
    for other in sorted(better, key=lambda other: other.error):
        yield replace(other, reason=reason)
    yield trusted
    yield from (other for other in short if other not in better)


def _recent(candidate: Candidate, cleaned: Cleaned, steps: int) -> Recent:
    model = models(cleaned.step)[candidate.model]
    newest = len(cleaned.values)
    oldest = max(LEAST_STEPS, newest - steps)
    origins = spread_origins(MOMENTS, first=oldest, last=newest - 1)
    errors = rolling_errors(model, candidate.parameters, cleaned, origins=origins, steps=steps)
    usual = np.array(extended_radii(candidate.radii, steps))
    # Even a model that was never wrong may be wrong by what nobody would notice.
    noticed = np.maximum(usual, NOTICED * float(cleaned.values.mean()) or 1.0)
    return Recent(
        candidate=candidate,
        error=errors.newest_mean(),
        excess=errors.relative_to(noticed).newest_mean(),
    )
