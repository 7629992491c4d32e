"""What was learned and stored is read back, or is learned anew; nothing else."""

import json
import math
from typing import Any

import pytest

from sluice.core.deciding.situation import Bounds
from sluice.core.learning.experience import Experience
from sluice.core.learning.remembering import memory_of, recalled
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import Watcher
from sluice.errors import CorruptState

TERMS = Terms(bounds=Bounds(smallest=1, largest=8))


def stored() -> dict[str, Any]:
    """A memory as it comes from the ConfigMap."""
    found = json.loads(json.dumps(memory_of(Watcher(terms=TERMS, executors=2))))
    assert isinstance(found, dict)
    return found


def test_what_was_stored_is_recalled() -> None:
    assert memory_of(recalled(stored(), TERMS, 2, 0.0)) == stored()


def test_a_start_and_the_pause_before_it_are_remembered() -> None:
    known = Experience().with_start(21.5).with_pause(9.75)
    watcher = Watcher(terms=TERMS, executors=2, experience=known)
    again = recalled(json.loads(json.dumps(memory_of(watcher))), TERMS, 2, 0.0)
    assert again.experience.models.downtimes == known.models.downtimes


@pytest.mark.parametrize("overhead", [-1.0, math.nan, math.inf])
def test_an_overhead_that_is_no_time_is_learned_anew(overhead: float) -> None:
    with pytest.raises(CorruptState):
        recalled({**stored(), "overhead": overhead}, TERMS, 2, 0.0)


@pytest.mark.parametrize("tasks", [0, 10**30, 2.5, "many"])
def test_tasks_that_no_stage_has_are_learned_anew(tasks: object) -> None:
    memory = stored()
    memory["capacity"]["tasks"] = tasks
    with pytest.raises(CorruptState):
        recalled(memory, TERMS, 2, 0.0)
