"""Forecasts in a process of their own: fits take processor time and libraries that the operator is better off without.

A process that does not answer in time is ended, and the next question starts another.
"""

import asyncio
import logging
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sluice.core.forecasting.forecast import Forecast
from sluice.core.series import NoData

if TYPE_CHECKING:
    from sluice.core.learning.foreseeing import Forecaster, History

log = logging.getLogger(__name__)

Foreseen = tuple["Forecaster", Forecast | NoData]


@dataclass(slots=True)
class ForecastProcess:
    """One process that forecasts, started when it is first needed. Use it as an async context manager."""

    deadline: float = 30.0
    _pool: ProcessPoolExecutor | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end()

    async def foresee(self, forecaster: "Forecaster", history: "History", at: float) -> Foreseen:
        """What is forecast; why nothing is, if that fails. One question at a time: the process has one processor."""
        async with self._turn:
            try:
                async with asyncio.timeout(self.deadline):
                    return await asyncio.get_running_loop().run_in_executor(
                        self._ready(), _foreseen, forecaster, tuple(history), at
                    )
            except TimeoutError:
                self._end()
                late = NoData(f"no forecast within {self.deadline:g} s")
                return forecaster.put_off(history, at), late
            except BrokenProcessPool:
                self._end()
                return forecaster, NoData("the process that forecasts has died")
            except Exception as error:
                # A bug in a model must not keep the job from being scaled: a load may be planned without a forecast.
                log.exception("nothing could be forecast")
                return forecaster, NoData(f"forecasting failed with {type(error).__name__}")

    def _ready(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not forked: the operator's threads and sockets are none of its business.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(max_workers=1, mp_context=context)
        return self._pool

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in tuple((pool._processes or {}).values()):  # kill_workers() comes with 3.14
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)


def _foreseen(forecaster: "Forecaster", history: "History", at: float) -> Foreseen:
    forecast = forecaster.foresee(history, at)
    return forecaster, forecast
