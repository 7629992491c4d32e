"""Forecasts come from another process, which may take too long, or die."""

import asyncio
import logging
import os
import signal
import time

import pytest

from sluice.adapters.forecasting import ForecastProcess
from sluice.core.forecasting.forecast import Forecast
from sluice.core.learning.foreseeing import Forecaster, History
from sluice.core.series import NoData

AT = 1_767_225_600.0
HISTORY = [(-60.0 * (60 - minute), 100.0 + minute) for minute in range(60)]


async def pid_of(process: ForecastProcess) -> int:
    """The process that answers."""
    pool = process._pool  # to end it from outside
    assert pool is not None
    return await asyncio.get_running_loop().run_in_executor(pool, os.getpid)


def test_another_process_forecasts_what_this_one_would_and_remembers_its_selection() -> None:
    async def asked() -> tuple[Forecaster, Forecast | NoData, int]:
        async with ForecastProcess() as process:
            forecaster, forecast = await process.foresee(Forecaster(horizon=600.0), HISTORY, AT)
            return forecaster, forecast, await pid_of(process)

    forecaster, forecast, pid = asyncio.run(asked())
    assert pid != os.getpid()
    assert forecast == Forecaster(horizon=600.0).foresee(HISTORY, AT)
    assert forecaster.selection is not None


def test_a_forecast_that_takes_too_long_is_none_and_the_next_one_comes() -> None:
    async def asked() -> list[Forecast | NoData]:
        async with ForecastProcess(deadline=0.001) as process:
            _, late = await process.foresee(Forecaster(), HISTORY, AT)
            process.deadline = 60.0
            _, forecast = await process.foresee(Forecaster(), HISTORY, AT)
            return [late, forecast]

    late, forecast = asyncio.run(asked())
    assert late == NoData("no forecast within 0.001 s")
    assert isinstance(forecast, Forecast)


def test_a_selection_that_takes_too_long_leaves_the_former_one_to_forecast_with() -> None:
    async def asked() -> tuple[Forecaster, Forecaster, Forecast | NoData]:
        async with ForecastProcess() as process:
            chosen, _ = await process.foresee(Forecaster(), HISTORY, AT)
            process.deadline = 0.001
            later = AT + 86_400
            late, _ = await process.foresee(chosen, HISTORY, later)
            process.deadline = 60.0
            after, forecast = await process.foresee(late, HISTORY, later + 60)
            return late, after, forecast

    late, after, forecast = asyncio.run(asked())
    assert after == late, "nothing was chosen anew"
    assert isinstance(forecast, Forecast)


def test_a_process_that_dies_is_followed_by_another() -> None:
    async def asked() -> list[Forecast | NoData]:
        async with ForecastProcess() as process:
            await process.foresee(Forecaster(), HISTORY, AT)
            os.kill(await pid_of(process), signal.SIGKILL)
            return [(await process.foresee(Forecaster(), HISTORY, AT))[1] for _ in range(2)]

    told = asyncio.run(asked())
    assert isinstance(told[1], Forecast)


class Broken(Forecaster):
    """Its model has a bug."""

    def foresee(self, history: History, at: float) -> Forecast | NoData:
        """As a bug would."""
        raise ZeroDivisionError("of a model")


def test_a_bug_in_a_model_is_logged_and_leaves_a_decision_without_a_forecast(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def asked() -> list[Forecast | NoData]:
        async with ForecastProcess() as process:
            told = [(await process.foresee(Broken(), HISTORY, AT))[1]]
            return [*told, (await process.foresee(Forecaster(), HISTORY, AT))[1]]

    with caplog.at_level(logging.ERROR):
        told = asyncio.run(asked())
    assert told[0] == NoData("forecasting failed with ZeroDivisionError")
    assert "in foresee" in caplog.text
    assert isinstance(told[1], Forecast)


def test_no_process_is_left_behind() -> None:
    async def asked() -> int:
        async with ForecastProcess() as process:
            await process.foresee(Forecaster(), HISTORY, AT)
            return await pid_of(process)

    pid = asyncio.run(asked())
    # It was killed, and a busy machine takes its time over that.
    until = time.monotonic() + 60
    while _is_alive(pid):
        assert time.monotonic() < until
        time.sleep(0.05)


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
