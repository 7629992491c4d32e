"""End-to-end latencies: from the moment at which an event was due to the moment at which its result was written."""

import math
from dataclasses import dataclass, field


@dataclass(kw_only=True, slots=True)
class Latencies:
    """Collects milliseconds and gives their percentiles, each a value that really occurred."""

    values: list[int] = field(default_factory=list)

    def add(self, milliseconds: int) -> None:
        self.values.append(milliseconds)

    def summary(self) -> dict[str, int]:
        """Give percentiles by nearest rank; nothing for no values."""
        ordered = sorted(self.values)
        if not ordered:
            return {}
        ranks = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
        found = {
            name: ordered[math.ceil(share * len(ordered)) - 1] for name, share in ranks.items()
        }
        return {**found, "max": ordered[-1]}
