"""Policies as they are named on the command line: `sluice`, `hpa:target=0.35`, `static:executors=12`, `oracle`.

Each comes with the interval at which its authors let it decide, and with a forecast if it asks for one. What its
authors leave to the user is taken from the plant: the target of a recovery, and where lag means trouble.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Policy
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies.named import POLICIES, parameter_names, policy_named
from sluice.core.simulation.foreseeing import Forecaster, unforeseen
from sluice.core.simulation.loop import Decide, Foresee
from sluice.core.simulation.oracle import Oracle
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace
from sluice.errors import InvalidSpec, Problem

ORACLE = "oracle"
STATIC = "static"

INTERVALS: Mapping[str, float] = {"hpa": 15.0, "keda-lag": 30.0}
"""Kubernetes' and KEDA's defaults; all others decide each minute, which is ours."""

MINUTE = 60.0

FORECASTING = frozenset({"sluice", "phoebe", "twres", "daedalus"})

LATENESS = 5.0
"""Seconds of an executor's work that may wait before `keda-lag` adds another, unless it is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A policy's name and the parameters that differ from its defaults."""

    name: str
    parameters: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        told = ",".join(f"{name}={value:g}" for name, value in self.parameters)
        return f"{self.name}:{told}" if told else self.name

    @property
    def interval(self) -> float:
        """Seconds between two decisions."""
        return INTERVALS.get(self.name, MINUTE)

    def fixed(self, plant: Plant) -> int | None:
        """The number of executors to begin with, where the policy is to have one: all, unless told."""
        if self.name != STATIC:
            return None
        return int(dict(self.parameters).get("executors", plant.bounds.largest))

    def policy(self, plant: Plant, trace: Trace) -> Policy:
        """The policy for a plant."""
        if self.name == ORACLE:
            return Oracle(plant=plant, trace=trace, interval=self.interval)
        return policy_named(self.name, **{**_left_to_users(self.name, plant), **self._typed()})

    def deciding(self, plant: Plant, trace: Trace) -> Decide:
        """What decides: the policy behind the guards that jobs have; the oracle needs none."""
        policy = self.policy(plant, trace)
        if self.name == ORACLE:
            return policy
        return partial(decide, policy=policy, settings=Settings())

    def foreseeing(self) -> Foresee:
        """What forecasts."""
        return Forecaster() if self.name in FORECASTING else unforeseen

    def _typed(self) -> dict[str, float]:
        return {
            name: int(value)
            if value.is_integer() and name in ("executors", "hysteresis")
            else value
            for name, value in self.parameters
        }


def _left_to_users(name: str, plant: Plant) -> dict[str, float]:
    match name:
        case "phoebe":
            return {"target": plant.recovery, "downtime": plant.driver_loss}
        case "daedalus":
            return {"downtime_up": plant.restart, "downtime_down": plant.restart}
        case "twres":
            return {"latency": plant.latency}
        case "keda-lag":
            return {
                "threshold": LATENESS * plant.capacity(plant.bounds.largest) / plant.bounds.largest
            }
        case _:
            return {}


def contender(text: str) -> Contender:
    """Read a name with its parameters. Raises InvalidSpec."""
    name, _, told = text.partition(":")
    if name != ORACLE and name not in POLICIES:
        remedy = f"choose one of {', '.join([*POLICIES, ORACLE])}"
        raise InvalidSpec([Problem("policy", name, remedy)])
    pairs = [_parameter(name, pair) for pair in told.split(",") if pair]
    return Contender(name=name, parameters=tuple(pairs))


def _parameter(policy: str, pair: str) -> tuple[str, float]:
    name, _, number = pair.partition("=")
    known = () if policy == ORACLE else parameter_names(policy)
    if name not in known:
        remedy = f"choose one of {', '.join(known)}" if known else "this policy has no parameters"
        raise InvalidSpec([Problem(f"parameter of policy {policy}", name, remedy)])
    try:
        return name, float(number)
    except ValueError:
        remedy = f"write it as {policy}:{name}=0.5"
        raise InvalidSpec([Problem(f"{policy}:{name}", number, remedy)]) from None
