"""Agents that tell what a test gives them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sluice.core.observations import AgentReport
from sluice.errors import AgentUnavailable
from sluice.ports import Clock


@dataclass
class MemoryAgents:
    """All agents, by the address of their pods. Without a report, an agent does not answer.

    A report may be made anew for each moment.
    """

    clock: Clock
    reports: dict[str, AgentReport | Callable[[datetime], AgentReport]] = field(
        default_factory=dict
    )
    asked: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    leaving: list[tuple[str, ...]] = field(default_factory=list)
    limits: dict[str, float | None] = field(default_factory=dict)

    async def report(self, address: str, token: str) -> AgentReport:
        """What a test has put there, as of now."""
        self.asked.append(address)
        self.tokens.append(token)
        if address not in self.reports:
            raise AgentUnavailable(f"nobody answers at {address}")
        told = self.reports[address]
        return (
            replace(told, at=self.clock.now())
            if isinstance(told, AgentReport)
            else told(self.clock.now())
        )

    async def set_executors(self, address: str, token: str, target: int) -> None:
        """Note what was asked for."""
        if address not in self.reports:
            raise AgentUnavailable(f"nobody answers at {address}")
        self.targets.append(target)

    async def decommission(self, address: str, token: str, executors: Sequence[str]) -> None:
        """Note which executors were to be replaced."""
        if address not in self.reports:
            raise AgentUnavailable(f"nobody answers at {address}")
        self.leaving.append(tuple(executors))

    async def set_limits(
        self,
        address: str,
        token: str,
        query: str,
        *,
        most_rows: float | None,
        trigger_seconds: float | None,
    ) -> None:
        """Note the limit of rows of a driver."""
        if address not in self.reports:
            raise AgentUnavailable(f"nobody answers at {address}")
        self.limits[address] = most_rows
