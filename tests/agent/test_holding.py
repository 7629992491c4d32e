"""When a Lease may be taken."""

import pytest

from sluice.agent.holding import Claim, Free, Held, Identity, Superseded, deadline, judged
from sluice.agent.lease import Lease

ME = Identity("uid-7", 4)


def lease(holder: str, renewed: str = "then", seconds: int = 60) -> Lease:
    return Lease(holder=holder, seconds=seconds, renewed=renewed, document={})


@pytest.mark.parametrize("holder", ["", "uid-7/4"])
def test_a_lease_that_is_nobodys_or_ours_is_free(holder: str) -> None:
    assert judged(lease(holder), ME, None, now=5.0) == Free()


@pytest.mark.parametrize("holder", ["uid-8/9", "uid-7/3", "somebody", "uid-7/x", "/", "uid-77/5"])
def test_anybody_elses_lease_is_held_from_when_it_was_seen_first(holder: str) -> None:
    assert judged(lease(holder), ME, None, now=5.0) == Held(Claim(holder, "then", 5.0), 60.0)


def test_a_lease_that_stays_unchanged_runs_out_by_our_clock() -> None:
    before = Claim("uid-8/1", "then", 5.0)
    assert judged(lease("uid-8/1"), ME, before, now=64.0) == Held(before, 1.0)
    assert judged(lease("uid-8/1"), ME, before, now=65.0) == Free()


@pytest.mark.parametrize("changed", [lease("uid-8/1", "later"), lease("uid-9/1")])
def test_a_lease_that_changes_is_waited_out_anew(changed: Lease) -> None:
    judgement = judged(changed, ME, Claim("uid-8/1", "then", 5.0), now=64.0)
    assert judgement == Held(Claim(changed.holder, changed.renewed, 64.0), 60.0)


def test_a_later_incarnation_of_the_same_job_bars_the_way_for_good() -> None:
    before = Claim("uid-7/5", "then", 5.0)
    assert judged(lease("uid-7/5"), ME, before, now=1000.0) == Superseded("uid-7/5")


def test_a_holder_is_dead_before_the_lease_runs_out() -> None:
    assert deadline(100.0, 60) == 154.0
