"""What holds of every profile, whatever happens to its copies, and however often the operator crashes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.core.profiling import budget
from sluice.core.profiling.keys import key_of
from sluice.core.profiling.records import (
    Allowance,
    CopySeen,
    EndCopy,
    LiveReading,
    MakeCopy,
    Phase,
    Problem,
    Reading,
    Reason,
    Run,
    Start,
    Verdict,
)
from sluice.core.profiling.stepping import AGAIN, next_steps
from tests.support.jobs import NOW
from tests.unit.core.profiling.profiles import (
    JOB,
    RUNS,
    live_reading,
    profile,
    reading,
    runs,
    seen,
)

HAPPENINGS = st.sampled_from(("waits", "runs", "tells", "certain", "dry", "fails", "crash"))


TELLS: Mapping[Start, Reading | LiveReading] = {
    Start.EARLIEST: reading(error=0.4),
    Start.LATEST: live_reading(seconds=9.0),
}
CERTAIN: Mapping[Start, Reading | LiveReading] = {
    Start.EARLIEST: reading(),
    Start.LATEST: live_reading(),
}


def _seen_of(copy_seen: CopySeen, happening: str, executors: int, start: Start) -> CopySeen:
    match happening:
        case "runs":
            return replace(copy_seen, registered=executors)
        case "tells":
            return replace(copy_seen, registered=executors, reading=TELLS[start])
        case "certain":
            return replace(copy_seen, registered=executors, reading=CERTAIN[start])
        case "dry":
            return replace(copy_seen, registered=executors, is_dry=True)
        case "fails":
            return replace(copy_seen, problem=Problem(Reason.COPY_FAILED, "exit code 1"))
        case _:
            return copy_seen


class Life:
    """A cluster that does what the steps say, unless the operator crashes in between."""

    def __init__(
        self,
        executors: tuple[int, ...],
        core_seconds: float,
        parallel: int,
        start: Start = Start.EARLIEST,
    ) -> None:
        self.allowance = Allowance(core_seconds=core_seconds, wall=timedelta(minutes=20))
        self.profile = profile(
            executors=executors, allowance=self.allowance, parallel=parallel, start=start
        )
        self.run = Run()
        self.now = NOW
        self.there: set[str] = set()

    def look(self, happening: str) -> Verdict:
        """One look, after which the steps are taken."""
        self.now += timedelta(seconds=AGAIN * 2)
        copies = {
            copy.namespace: _seen_of(RUNS, happening, copy.executors, self.profile.start)
            for copy in self.run.copies
            if copy.namespace in self.there
        }
        around = seen(copies=copies, key=key_of(JOB, self.profile.start))
        verdict = next_steps(self.profile, self.run, around, self.now)
        self.run = verdict.run
        for step in () if happening == "crash" else verdict.steps:
            match step:
                case MakeCopy(copy=copy):
                    self.there.add(copy.namespace)
                case EndCopy(copy=copy):
                    self.there.discard(copy.namespace)
        return verdict


@settings(deadline=None)
@given(
    executors=st.lists(st.integers(1, 6), max_size=4, unique=True).map(tuple),
    core_seconds=st.floats(100, 8000),
    parallel=st.integers(1, 3),
    start=st.sampled_from(Start),
    happenings=st.lists(HAPPENINGS, min_size=5, max_size=60),
)
def test_a_profile_keeps_to_its_bounds_and_ends_with_nothing_left(
    executors: tuple[int, ...],
    core_seconds: float,
    parallel: int,
    start: Start,
    happenings: list[str],
) -> None:
    life = Life(executors, core_seconds, parallel, start)
    for happening in happenings:
        before = life.run
        verdict = life.look(happening)
        assert len(verdict.run.open) <= parallel
        assert len({copy.namespace for copy in verdict.run.open}) == len(verdict.run.open)
        assert {copy.namespace for copy in verdict.run.open} >= {
            step.copy.namespace for step in verdict.steps if isinstance(step, MakeCopy)
        }
        if before.ended is not None:
            assert replace(verdict.run) == before
    for _ in range(400):
        life.look("waits")
    assert life.run.ended is not None
    assert life.run.open == ()
    assert life.there == set()
    # A copy is looked at every ten seconds here, and may cost so much more than was allowed.
    late = sum(budget.cores(JOB, copy.executors) for copy in life.run.copies) * AGAIN * 2
    assert budget.spent(JOB, life.run.copies, life.now) <= core_seconds + late


@settings(deadline=None)
@given(
    executors=st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True).map(tuple),
    parallel=st.integers(1, 3),
    start=st.sampled_from(Start),
)
def test_copies_that_all_go_well_give_all_points(
    executors: tuple[int, ...], parallel: int, start: Start
) -> None:
    life = Life(executors, 1e6, parallel, start)
    for _ in range(3 * len(executors) + 3):
        verdict = life.look("certain")
    assert verdict.phase is Phase.SUCCEEDED
    assert {point.executors for point in life.run.points} == set(executors)
    assert life.there == set()


def test_a_copy_that_is_seen_to_run_is_not_made_again() -> None:
    life = Life((2,), 7200, 1)
    life.look("waits")
    (copy,) = life.run.open
    verdict = next_steps(
        life.profile, life.run, seen(copies={copy.namespace: runs(copy)}), life.now
    )
    assert verdict.steps == ()
