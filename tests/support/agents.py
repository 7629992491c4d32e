"""Agents that tell what a test gives them."""

from dataclasses import dataclass, field, replace

from sluice.core.observations import AgentReport
from sluice.errors import AgentUnavailable
from sluice.ports import Clock


@dataclass(slots=True)
class MemoryAgents:
    """All agents, by the address of their pods. Without a report, an agent does not answer."""

    clock: Clock
    reports: dict[str, AgentReport] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)

    async def report(self, address: str, token: str) -> AgentReport:
        """What a test has put there, as of now."""
        self.asked.append(address)
        self.tokens.append(token)
        if address not in self.reports:
            raise AgentUnavailable(f"nobody answers at {address}")
        return replace(self.reports[address], at=self.clock.now())

    async def set_executors(self, address: str, token: str, target: int) -> None:
        """Note what was asked for."""
        if address not in self.reports:
            raise AgentUnavailable(f"nobody answers at {address}")
        self.targets.append(target)
