"""What the page of a result says of its goals."""

from pathlib import Path

import pytest

from bench import report
from bench.report import Figure, Result


@pytest.mark.parametrize(
    ("values", "are_repeats", "verdict"),
    [
        ((9.0, 1.0), False, "missed"),
        ((1.0, 9.0), False, "missed"),
        ((1.0, 5.0), False, "met"),
        ((9.0, 1.0, 1.0), True, "met"),
        ((9.0, 9.0, 1.0), True, "missed"),
        ((9.0,), True, "missed"),
    ],
)
def test_a_goal_is_met_by_the_median_of_repeats_and_else_by_each_run_that_has_it(
    values: tuple[float, ...],
    are_repeats: bool,
    verdict: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    runs = {
        f"run {number}": [Figure(name="late", value=value, unit="%", goal="<= 5")]
        for number, value in enumerate(values, start=1)
    }
    result = Result(
        name="trial",
        title="A trial",
        method="",
        settings={},
        versions={},
        runs=runs,
        are_repeats=are_repeats,
    )

    page = report.write(result).read_text()

    assert f"| <= 5: {verdict} |" in page
