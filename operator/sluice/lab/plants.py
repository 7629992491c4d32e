"""Plants as they are named on the command line: `phoebe`, `spark-stateful:restart=20,largest=40`, `all`.

Any number of a plant can be changed, and the smallest and largest number of executors.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from sluice.core.deciding.situation import Bounds
from sluice.core.simulation.plant import PLANTS, Plant
from sluice.errors import InvalidSpec, Problem

ALL = "all"

BOUNDS = ("smallest", "largest")

COUNTS = frozenset({*BOUNDS, "cores", "tasks"})
"""What is a whole number, and at least 1."""

POSITIVE = frozenset(
    {
        "peak",
        "latency",
        "recovery",
        "objective",
        "task_rate",
        "most_rows",
        "scrape_interval",
        "spreading",
        "warming",
    }
)

SHARES = frozenset({"objective", "unevenness", "crowding", "slowness", "resting"})
"""What is less than all."""

UNCHANGEABLE = frozenset({"name", "bounds"})

NUMBERS = (
    *BOUNDS,
    *(found.name for found in fields(Plant) if found.name not in UNCHANGEABLE),
)


def plants(words: Iterable[str]) -> tuple[Plant, ...]:
    """The plants of names, each once. Raises InvalidSpec."""
    names = [name for word in words for name in (PLANTS if word == ALL else [word])]
    return tuple(plant(name) for name in dict.fromkeys(names))


def plant(text: str) -> Plant:
    """Read a name with its changes. Raises InvalidSpec."""
    name, _, told = text.partition(":")
    if name not in PLANTS:
        raise InvalidSpec([Problem("plant", name, f"choose one of {', '.join(PLANTS)}, or all")])
    changes: dict[str, Any] = {}
    for pair in filter(None, told.split(",")):
        number, value = _change(name, pair)
        if number in changes:
            remedy = "write it once: two numbers contradict each other"
            raise InvalidSpec([Problem(f"{name}:{number}", pair, remedy)])
        changes[number] = value
    found = PLANTS[name]
    bounds = _bounds(
        name, found.bounds, {end: changes.pop(end) for end in BOUNDS if end in changes}
    )
    return replace(found, name=text, bounds=bounds, **changes)


def _change(plant: str, pair: str) -> tuple[str, float | bool]:
    name, _, text = pair.partition("=")
    if name not in NUMBERS:
        remedy = f"choose one of {', '.join(NUMBERS)}"
        raise InvalidSpec([Problem(f"number of plant {plant}", name, remedy)])
    return name, _number(plant, name, text)


def _bounds(plant: str, found: Bounds, changes: Mapping[str, int]) -> Bounds:
    try:
        return replace(found, **changes)
    except ValueError:
        told = ",".join(f"{name}={value}" for name, value in changes.items())
        remedy = f"it has {found.smallest} to {found.largest}: change both, the smallest to no more than the largest"
        raise InvalidSpec([Problem(f"bounds of plant {plant}", told, remedy)]) from None


def _number(plant: str, name: str, text: str) -> float | bool:
    if name == "live":
        if text in ("yes", "no"):
            return text == "yes"
        raise InvalidSpec([Problem(f"{plant}:live", text, "write yes or no")])
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if name in COUNTS:
        if number >= 1 and number.is_integer():
            return int(number)
        raise InvalidSpec([Problem(f"{plant}:{name}", text, "write a whole number from 1 on")])
    if name == "skew" and not 1 <= number < math.inf:
        raise InvalidSpec([Problem(f"{plant}:{name}", text, "write a number from 1 on")])
    most = 1 if name in SHARES else math.inf
    if 0 < number < most or (number == 0 and name not in POSITIVE):
        return number
    kind = "positive" if name in POSITIVE else "not negative"
    if name in SHARES:
        kind += ", and less than 1"
    raise InvalidSpec([Problem(f"{plant}:{name}", text, f"write a number that is {kind}")])
