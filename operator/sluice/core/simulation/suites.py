"""The traces by name. Policies are tuned on one set and reported on the other; no trace is in both.

All have a peak of about 200,000 rows per second, as the published runs had (phoebe.md 3); a plant scales them to its
own size. `cars` goes through the published loads of Table II at the seconds where they were measured (2.8 b), between
its published ends of 11 and 188 K with a mean of 91 K.
"""

from collections.abc import Callable, Mapping

from sluice.core.simulation import trace
from sluice.core.simulation.trace import Rates, Trace

PEAK = 200_000.0
NOISE = 0.05
CYCLE = 7200
SIX_HOURS = 21_600

_CARS = (
    (0, 11e3), (1200, 52.7e3), (2400, 53.1e3), (3600, 52.9e3), (3943, 54.3e3), (4800, 59.4e3), (6000, 101e3),
    (6686, 140.1e3), (7000, 142e3), (9429, 73e3), (10800, 36e3), (12172, 83.2e3), (14915, 134.1e3),
    (16800, 188e3), (17658, 167.5e3), (20401, 60.4e3), (21600, 20e3),
)  # fmt: skip

_STAIRS = (
    (0, 20e3), (3000, 20e3), (3300, 80e3), (6600, 80e3), (6900, 140e3), (11000, 140e3), (11300, 50e3),
)  # fmt: skip

Shape = Callable[[int], Rates]
"""A shape from a seed."""


def _yahoo(_: int) -> Rates:
    return trace.sine(SIX_HOURS, mean=PEAK / 2, amplitude=PEAK / 2, period=CYCLE, phase=-0.25)


def _spikes(seed: int) -> Rates:
    return trace.spikes(SIX_HOURS, base=60e3, height=110e3, length=900, each=2400, seed=seed)


def _outage(_: int) -> Rates:
    calm = trace.sine(CYCLE * 2, mean=100e3, amplitude=30e3, period=CYCLE)
    return trace.with_outage(calm, at=6000, length=600, caught_up=1200)


REPORTING: Mapping[str, Shape] = {
    "yahoo-sine": _yahoo,
    "cars": lambda _: trace.through(SIX_HOURS, _CARS),
    "diurnal": lambda _: trace.diurnal(
        3 * SIX_HOURS, night=25e3, day=160e3, length=SIX_HOURS, drift=0.05
    ),
    "ramp": lambda _: trace.ramp(CYCLE * 2, low=20e3, high=180e3, start=3000, end=9000),
    "spikes": _spikes,
    "square": lambda _: trace.square(SIX_HOURS, low=40e3, high=150e3, period=5400),
    "flash-crowd": lambda _: trace.flash_crowd(
        CYCLE * 2, base=40e3, height=140e3, at=6000, rise=240, fade=1800
    ),
    "outage": _outage,
}

TUNING: Mapping[str, Shape] = {
    "sine-fast": lambda _: trace.sine(
        CYCLE * 2, mean=90e3, amplitude=70e3, period=4500, phase=-0.25
    ),
    "sine-slow": lambda _: trace.sine(
        CYCLE * 2, mean=85e3, amplitude=80e3, period=8600, phase=-0.25
    ),
    "cars-backwards": lambda _: trace.through(SIX_HOURS, _CARS)[::-1].copy(),
    "stairs": lambda _: trace.through(CYCLE * 2, _STAIRS),
    "bursts": lambda seed: trace.spikes(
        CYCLE * 2, base=40e3, height=90e3, length=600, each=1500, seed=seed
    ),
    "humps": lambda _: trace.diurnal(
        2 * CYCLE, night=40e3, day=170e3, length=CYCLE * 1.3, drift=-0.05
    ),
    "constant": lambda _: trace.ramp(CYCLE, low=100e3, high=100e3, start=0, end=1),
}

SETS: Mapping[str, Mapping[str, Shape]] = {"reporting": REPORTING, "tuning": TUNING}


def named_trace(name: str, seed: int) -> Trace:
    """A trace of either set with the noise of a seed. Raises KeyError."""
    shape = {**TUNING, **REPORTING}[name]
    return Trace(name=name, rates=trace.noisy(shape(seed), NOISE, seed))
