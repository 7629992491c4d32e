"""Policies as they are named on the command line: `sluice`, `hpa:target=0.35`, `static:executors=12`, `oracle`.

Each comes with the interval at which its authors let it decide, and with a forecast if it asks for one. What its
authors leave to the user is taken from the plant: the objective, the target of a recovery, and where lag means trouble.
`rivals` are all policies with their defaults, `sweep` those that decide, with what they have most to turn at other
positions: the load or lag of an executor, a reserve, the target of a recovery, how long they leave a job alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Policy
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies import wording
from sluice.core.deciding.policies.keda_lag import LATENESS
from sluice.core.deciding.policies.named import FORECASTING, POLICIES, parameter_names, policy_named
from sluice.core.learning.foreseeing import Forecaster, unforeseen
from sluice.core.simulation.loop import Decide, Foresee
from sluice.core.simulation.oracle import Oracle
from sluice.core.simulation.plant import Plant
from sluice.core.simulation.trace import Trace
from sluice.errors import InvalidSpec, Problem

SECONDS = "seconds"
"""Instead of `threshold` of keda-lag: how many seconds of an executor's work that is."""

ORACLE = "oracle"
STATIC = "static"

INTERVALS: Mapping[str, float] = {"hpa": 15.0, "keda-lag": 30.0}
"""Kubernetes' and KEDA's defaults; all others decide each minute, which is ours."""

MINUTE = 60.0

SETS: Mapping[str, tuple[str, ...]] = {
    "rivals": (
        "static",
        "hpa",
        "keda-lag",
        "flink-autoscaler",
        "ds2",
        "twres",
        "daedalus",
        "phoebe",
    ),
    "sweep": (
        *(f"hpa:target={target}" for target in (0.35, 0.5, 0.65)),
        *(f"keda-lag:seconds={seconds}" for seconds in (1, 2, 10)),
        *(f"flink-autoscaler:target={target}" for target in (0.35, 0.5)),
        *(f"ds2:scaling_factor={factor}" for factor in (0.25, 0.5)),
        *(f"twres:evaluation={seconds}" for seconds in (60, 180)),
        *(f"daedalus:target={seconds}" for seconds in (60, 180)),
        *(f"phoebe:downtime={seconds}" for seconds in (100, 130)),
        *(f"phoebe:evaluation={seconds}" for seconds in (60, 180)),
    ),
}


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

    @property
    def needs_models(self) -> bool:
        """Whether it uses a forecast and a profile, which is paid by who uses it."""
        return self.name in FORECASTING

    @property
    def is_oracle(self) -> bool:
        """Whether it knows the future."""
        return self.name == ORACLE

    @property
    def numbers(self) -> dict[str, float]:
        """Its parameters by their names."""
        return wording.numbers(self.parameters)

    def fixed(self, plant: Plant) -> int | None:
        """The number of executors to begin with, where the policy is to have one: all, unless told.

        Raises InvalidSpec if the plant cannot have so many: others would run than the result is named by.
        """
        if self.name != STATIC:
            return None
        bounds = plant.bounds
        executors = int(dict(self.parameters).get("executors", bounds.largest))
        if bounds.smallest <= executors <= bounds.largest:
            return executors
        remedy = f"write a number from {bounds.smallest} to {bounds.largest}, which plant {plant.name} can have"
        raise InvalidSpec([Problem(f"{STATIC}:executors", executors, remedy)])

    def policy(self, plant: Plant, trace: Trace) -> Policy:
        """The policy for a plant."""
        if self.is_oracle:
            return Oracle(plant=plant, trace=trace, interval=self.interval)
        return policy_named(self.name, **{**_left_to_users(self.name, plant), **self._told(plant)})

    def deciding(self, plant: Plant, trace: Trace) -> Decide:
        """What decides: the policy behind the guards that jobs have; the oracle needs none."""
        policy = self.policy(plant, trace)
        if self.is_oracle:
            return policy
        return partial(decide, policy=policy, settings=Settings())

    def foreseeing(self) -> Foresee:
        """What forecasts."""
        return Forecaster() if self.needs_models else unforeseen

    def _told(self, plant: Plant) -> dict[str, float]:
        told = self.numbers
        if SECONDS in told:
            told["threshold"] = told.pop(SECONDS) * _rows_per_second(plant)
        return told


def _left_to_users(name: str, plant: Plant) -> dict[str, float]:
    match name:
        case "sluice":
            return {"objective": plant.objective}
        case "phoebe":
            return {"target": plant.recovery, "downtime": plant.driver_loss}
        case "daedalus":
            return {"downtime_up": plant.restart, "downtime_down": plant.restart}
        case "twres":
            return {"latency": plant.latency}
        case "keda-lag":
            return {"threshold": LATENESS * _rows_per_second(plant)}
        case _:
            return {}


def _rows_per_second(plant: Plant) -> float:
    """What an executor processes."""
    return plant.capacity(plant.bounds.largest) / plant.bounds.largest


def contenders(words: Iterable[str]) -> tuple[Contender, ...]:
    """The policies of names and of sets, each once. Raises InvalidSpec."""
    names = [name for word in words for name in SETS.get(word, (word,))]
    return tuple(dict.fromkeys(map(contender, names)))


def contender(text: str) -> Contender:
    """Read a name with its parameters. Raises InvalidSpec."""
    name, _, told = text.partition(":")
    if name != ORACLE and name not in POLICIES:
        remedy = f"choose one of {', '.join([*POLICIES, ORACLE, *SETS])}"
        raise InvalidSpec([Problem("policy", name, remedy)])
    known = () if name == ORACLE else parameter_names(name)
    if name == "keda-lag":
        known = (*known, SECONDS)
    return Contender(name=name, parameters=wording.parameters(name, told, known))
