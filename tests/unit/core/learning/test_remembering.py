"""What was learned and stored is read back, or is learned anew; nothing else."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from sluice.core.deciding.situation import Bounds
from sluice.core.learning.batches import BatchReport
from sluice.core.learning.experience import Experience
from sluice.core.learning.remembering import memory_of, recalled
from sluice.core.learning.starts import Start
from sluice.core.learning.terms import Terms
from sluice.core.learning.watching import Watcher
from sluice.errors import CorruptState

TERMS = Terms(bounds=Bounds(smallest=1, largest=8))


FIRST = BatchReport(
    start=1019.5, seconds=21.25, rows=4000, executors=2, cold=True, offsets=4800, waited=0.75
)


def started() -> Experience:
    """What is known of a driver that has had its first batch, before anything is known of capacities."""
    return Experience().with_start(Start(began=1000.0, seconds=21.5), [FIRST]).with_pause(9.75)


def stored(experience: Experience | None = None) -> dict[str, Any]:
    """A memory as it comes from the ConfigMap."""
    watcher = Watcher(terms=TERMS, executors=2, experience=experience or Experience())
    found = json.loads(json.dumps(memory_of(watcher)))
    assert isinstance(found, dict)
    return found


def test_what_was_stored_is_recalled() -> None:
    assert memory_of(recalled(stored(), TERMS, 2, 0.0)) == stored()


def test_a_start_its_early_batches_and_the_pause_before_it_are_remembered() -> None:
    again = recalled(stored(started()), TERMS, 2, 0.0).experience
    assert again.models.downtimes == started().models.downtimes
    assert again.early == (FIRST,)


def test_what_executors_share_of_an_overhead_is_remembered() -> None:
    known = replace(Experience(), overhead=0.5, shared=20.0)
    again = recalled(stored(known), TERMS, 2, 0.0).experience
    assert (again.overhead, again.shared) == (0.5, 20.0)
    memory = stored(known)
    del memory["shared"]
    assert recalled(memory, TERMS, 2, 0.0).experience.shared == 0.0


def test_what_a_release_stored_that_knew_of_no_waiting_is_recalled() -> None:
    memory = stored(started())
    del memory["early"][0]["waited"]
    assert recalled(memory, TERMS, 2, 0.0).experience.early == (replace(FIRST, waited=0.0),)


def test_what_a_release_stored_that_knew_of_no_early_batches_is_recalled() -> None:
    memory = stored(started())
    del memory["early"]
    assert recalled(memory, TERMS, 2, 0.0).experience == replace(started(), early=())


@pytest.mark.parametrize(
    "wrong",
    [{"seconds": -1.0}, {"rows": math.nan}, {"start": "soon"}, {"executors": None}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_an_early_batch_that_cannot_be_is_learned_anew(wrong: dict[str, Any]) -> None:
    memory = stored(started())
    memory["early"][0] |= wrong
    with pytest.raises(CorruptState):
        recalled(memory, TERMS, 2, 0.0)


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
