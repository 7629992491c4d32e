"""How long a load has stayed low before it came back: what a smaller size can be expected to save.

A spell is a time in which executors would have been enough for all that arrived. Of those that ended, the ones that
lasted longer than the present one tell how long it may still last. One that lasts longer than all before is expected
to last for a share of its age (Lindy's law).

What is long past is known by the largest rate of each bucket (`compacting`): the end of a spell is seen, its begin up
to a bucket late, and no spell that was shorter than that.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from sluice.core.series import Measured, NoData

History = Sequence[tuple[float, float]]
"""Seconds from now and rows per second, in ascending order."""


def remaining(history: History, is_enough: Callable[[float], bool], *, lasting: float) -> Measured:
    """Seconds until too much may arrive again, the median of the spells that were seen to end.

    `is_enough` says of rows per second whether the executors do for them; if so, they do for less, too. `lasting` is
    the share of its age for which a spell goes on that is the longest yet.
    """
    rates = sorted({rate for _, rate in history})
    bearable = bisect_left(rates, True, key=lambda rate: not is_enough(rate))
    if bearable == len(rates):
        return NoData("so much never arrived")
    spells = list(_spells(history, below=rates[bearable]))
    if not spells or spells[-1][1] is not None:
        return NoData("too much arrives now")
    lasted = -spells[-1][0]
    left = [end - begin - lasted for begin, end in spells if end is not None]
    longer = [seconds for seconds in left if seconds > 0]
    return median(longer) if longer else lasting * lasted


def _spells(history: History, *, below: float) -> Iterator[tuple[float, float | None]]:
    """Begin and end of each, the present one without an end. The first may have begun before what is remembered."""
    begin: float | None = None
    for at, rate in history:
        if rate < below:
            begin = at if begin is None else begin
        elif begin is not None:
            yield begin, at
            begin = None
    if begin is not None:
        yield begin, None
