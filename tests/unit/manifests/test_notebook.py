"""What is kept of decisions, in which order, and what becomes of a notebook that somebody else wrote."""

import pytest

from sluice.core.deciding.judging import Outcome, Verdict
from sluice.manifests.notebook import CHANGES, Notebook, notebook_map, read_notebook, verdict_of
from tests.support.jobs import job
from tests.support.texts import TOO_DEEP


def test_of_decisions_that_change_nothing_only_the_newest_is_kept() -> None:
    book = Notebook()
    for number in range(5):
        book = book.with_decision(f"d{number}", {"reason": "fits"}, keep=False)
    assert list(book.decisions) == ["d4"]


def test_the_last_changes_are_kept_beside_the_newest() -> None:
    book = Notebook()
    for number in range(CHANGES + 5):
        book = book.with_decision(f"d{number:02}", {"reason": "more"}, keep=True)
    book = book.with_decision("newest", {"reason": "fits"}, keep=False)
    assert list(book.decisions) == [
        *(f"d{number:02}" for number in range(5, CHANGES + 5)),
        "newest",
    ]


def test_a_verdict_is_kept_with_its_decision_and_goes_with_it() -> None:
    verdict = Verdict(Outcome.HARMFUL, "the latency is 14.2 s")
    book = (
        Notebook().with_decision("d1", {"reason": "fewer"}, keep=True).with_verdict("d1", verdict)
    )
    again = read_notebook(notebook_map(job(), book))
    assert verdict_of(again.decisions["d1"]) == verdict
    assert again.with_verdict("gone", verdict) == again


@pytest.mark.parametrize("told", [None, "Harmful", {}, {"outcome": "Splendid"}])
def test_a_verdict_that_cannot_be_read_is_none(told: object) -> None:
    assert verdict_of({"reason": "fewer", "verdict": told}) is None


def test_what_is_written_reads_back_equal() -> None:
    book = Notebook(memory={"kind": "Memory"}).with_decision("d1", {"reason": "more"}, keep=True)
    assert read_notebook(notebook_map(job(), book)) == book


def test_what_is_no_json_or_no_object_is_left_out() -> None:
    data = {
        "memory": "[1, 2]",
        "d1": "{",
        "d2": '{"reason": "more"}',
        "d3": "7",
        "d4": TOO_DEEP,
    }
    book = read_notebook({"data": data})
    assert book.memory == {}
    assert list(book.decisions) == ["d2"]
    assert read_notebook({}) == Notebook()


def test_it_goes_with_its_job() -> None:
    (owner,) = notebook_map(job(), Notebook())["metadata"]["ownerReferences"]
    assert owner["uid"] == job().uid
