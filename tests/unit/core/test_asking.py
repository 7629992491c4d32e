"""What people are told of annotations that ask for nothing."""

from dataclasses import replace

import pytest

from sluice.core import lifecycle, reporting
from sluice.core.application import StreamJob
from sluice.core.asking import LONGEST_TOLD, in_vain
from sluice.core.chosen import Chosen, Decided
from sluice.core.conditions import Claim, Condition
from sluice.core.deciding.decision import Decision, Veto
from sluice.core.observations import Observed
from sluice.core.record import Record
from tests.support.jobs import NOW, driver, job, report

WAITS = "20260301T115800Z"
"""The id of the decision that waits."""

DONE = "20260301T110000Z"
"""The id of a decision that was approved before, and followed."""

VETO = Veto("mode", "an approval of 5 executors is waited for")
DECIDED = Decided(
    id=WAITS,
    at=NOW,
    before=3,
    incarnation=1,
    decision=Decision(wanted=5, executors=3, reason="more load", veto=VETO),
    pending=WAITS,
)
CHOSEN = Chosen(executors=3, decision="20260301T110030Z", at=NOW, reason="load", approval=DONE)
NOTHING_WAITS = replace(DECIDED, pending=None, decision=replace(DECIDED.decision, veto=None))


def claimed(kind: Condition, of: StreamJob, record: Record) -> Claim:
    """What is claimed of a job whose driver runs."""
    seen = Observed(driver=driver(of), report=report(target=3), decided=record.decided)
    verdict = lifecycle.next_step(of, record, seen, holder=None, now=NOW)
    found = reporting.conditions_of(of, verdict, seen, holder=None, now=NOW)
    return next(claim for claim in found if claim.type is kind)


def scaling(
    approved: str | None, decided: Decided | None = DECIDED, mode: str = "Approve"
) -> Claim:
    of = job(
        scaling={"mode": mode},
        annotations={} if approved is None else {"sluice.dev/approve": approved},
    )
    record = Record(incarnation=1, decided=decided, chosen=CHOSEN)
    return claimed(Condition.SCALING_ACTIVE, of, record)


@pytest.mark.parametrize(
    ("value", "decided", "why"),
    [
        ("yes", DECIDED, f"'{WAITS}' does"),
        ("", DECIDED, f"'{WAITS}' does"),
        ("yes", NOTHING_WAITS, "no decision waits for an approval"),
        (WAITS, NOTHING_WAITS, "no decision waits for an approval"),
        (WAITS, None, "no decision waits for an approval"),
    ],
)
def test_who_approves_what_does_not_wait_is_told_so(
    value: str, decided: Decided | None, why: str
) -> None:
    plain, told = scaling(None, decided), scaling(value, decided)
    assert (told.status, told.reason) == (plain.status, plain.reason)
    assert told.message == f"{plain.message} sluice.dev/approve: {value!r} asks for nothing; {why}."


@pytest.mark.parametrize("decided", [DECIDED, NOTHING_WAITS], ids=["waits", "nothing"])
def test_an_approval_that_was_followed_is_not_told_to_ask_for_nothing(decided: Decided) -> None:
    assert scaling(DONE, decided) == scaling(None, decided)


def test_an_approval_of_what_waits_is_not_told_to_ask_for_nothing() -> None:
    assert scaling(WAITS) == scaling(None)


@pytest.mark.parametrize("mode", ["Off", "Observe"])
def test_an_approval_is_told_to_ask_for_nothing_where_none_is_waited_for(mode: str) -> None:
    assert "'yes' asks for nothing; no decision" in scaling("yes", NOTHING_WAITS, mode).message


def migration(**annotations: str) -> Claim:
    named = {f"sluice.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    of = job(annotations=named, checkpoint={"claim": "checkpoints", "path": "other"})
    record = Record(incarnation=1, last_batch=7, checkpoint=job().checkpoint_location)
    return claimed(Condition.SPEC_APPLIED, of, record)


@pytest.mark.parametrize("value", ["", "true", "claim://shop/checkpoints/other/"])
def test_who_allows_another_move_than_the_declared_one_is_told_which_it_is(value: str) -> None:
    plain, told = migration(), migration(allow_migration=value)
    assert (told.status, told.reason) == (plain.status, plain.reason)
    assert plain.message.endswith("sluice.dev/allow-migration=claim://shop/checkpoints/other")
    assert told.message == (
        f"{plain.message}. sluice.dev/allow-migration: {value!r} asks for nothing; "
        "'claim://shop/checkpoints/other' does."
    )


def test_the_declared_move_is_allowed_by_its_name() -> None:
    assert migration(allow_migration="claim://shop/checkpoints/other").reason != "MigrationRefused"


def test_of_a_value_without_end_only_the_beginning_is_told() -> None:
    assert len(in_vain("sluice.dev/approve", "7" * 200_000, "'8' does")) < LONGEST_TOLD + 60
