"""A forecast: what models promise and deciding reads. A value that needs no numerics to be imported."""

from dataclasses import dataclass

SILENT = 0.01
"""The share of the usual load up to which nothing arrives, as far as anybody cares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Rates to come at ascending seconds from now, with the range in which four of five lie, and the model's name.

    `note` says why that model speaks, where it is not the one that was selected.
    """

    times: tuple[float, ...]
    rates: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    model: str
    note: str = ""

    def __post_init__(self) -> None:
        lengths = {len(self.times), len(self.rates), len(self.low), len(self.high)}
        if lengths != {len(self.times)} or not self.times:
            raise ValueError(
                "a forecast has as many rates, lows and highs as times, and at least one"
            )
