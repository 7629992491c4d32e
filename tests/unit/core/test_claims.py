"""Who may use which checkpoint."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.core.application import JobKey
from sluice.core.claims import Claimant, Claims
from tests.support.jobs import NOW


def claimant(name: str, location: str, *, started: bool = False, age: int = 0) -> Claimant:
    return Claimant(
        key=JobKey("shop", name),
        uid=name,
        location=location,
        has_started=started,
        created=NOW - timedelta(seconds=age),
    )


def holder(wanted: Claimant, *others: Claimant) -> str | None:
    claims = Claims()
    for one in (*others, wanted):
        claims.put(one)
    key = claims.holder(wanted)
    return key.name if key else None


def test_the_oldest_declared_job_has_the_place() -> None:
    old, new = claimant("old", "s3a://b/x", age=9), claimant("new", "s3a://b/x")
    assert holder(new, old) == "old"
    assert holder(old, new) is None


def test_a_job_that_has_started_comes_before_an_older_one_that_has_not() -> None:
    running, old = (
        claimant("running", "s3a://b/x", started=True),
        claimant("old", "s3a://b/x", age=9),
    )
    assert holder(old, running) == "running"
    assert holder(running, old) is None


def test_a_place_inside_or_around_another_is_the_same_place() -> None:
    outer, inner = claimant("outer", "s3a://b/x", age=9), claimant("inner", "s3a://b/x/y/z", age=5)
    assert holder(inner, outer) == "outer"
    assert holder(claimant("late", "s3a://b"), outer, inner) == "outer"


def test_a_name_that_only_begins_alike_is_another_place() -> None:
    assert holder(claimant("new", "s3a://b/xy"), claimant("old", "s3a://b/x", age=9)) is None


def test_a_place_is_free_when_its_job_is_gone() -> None:
    claims = Claims()
    old, new = claimant("old", "s3a://b/x", age=9), claimant("new", "s3a://b/x/y")
    claims.put(old)
    claims.put(new)
    claims.remove("old")
    assert claims.holder(new) is None


locations = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@given(places=st.lists(locations, min_size=2, max_size=8))
def test_of_all_jobs_whose_places_overlap_at_most_one_may_run(places: list[str]) -> None:
    jobs = [claimant(str(number), place, age=number) for number, place in enumerate(places)]
    free = [one for one in jobs if holder(one, *[other for other in jobs if other != one]) is None]
    for one in free:
        for other in free:
            if one != other:
                assert not f"{one.location}/".startswith(f"{other.location}/")
