"""Forecasts without another process."""

from sluice.core.forecasting.forecast import Forecast
from sluice.core.learning.foreseeing import Forecaster, History
from sluice.core.series import NoData


class LocalForecasts:
    """The real forecaster, at once."""

    async def foresee(
        self, forecaster: Forecaster, history: History, at: float
    ) -> tuple[Forecaster, Forecast | NoData]:
        """What is forecast."""
        return forecaster, forecaster.foresee(history, at)
