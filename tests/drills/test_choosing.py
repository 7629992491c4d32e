"""Which end-to-end tests run: all, all but the thorough ones, or those that somebody names."""

import pytest

from e2e.__main__ import runs


def chosen(arguments: list[str]) -> list[str]:
    """The expression of markers of each run."""
    return [words[words.index("-m") + 1] for words in runs(arguments)]


def test_each_test_runs_in_the_lanes_or_alone_and_the_brief_runs_leave_out_the_thorough() -> None:
    assert chosen([]) == ["not alone", "alone"]
    assert chosen(["--brief"]) == ["not alone and not thorough", "alone and not thorough"]


@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_what_somebody_names_runs_and_nothing_else(dashes: list[str]) -> None:
    assert runs([*dashes, "e2e/test_running.py", "-s"]) == [["e2e/test_running.py", "-s"]]
