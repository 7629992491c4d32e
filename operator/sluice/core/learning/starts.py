"""How a driver began, as the agent in it tells."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """When its program began, and the seconds that this took until its first query; by the driver's own clock."""

    began: float
    seconds: float
