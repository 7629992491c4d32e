"""The table of all jobs: problems first, what fits, and why somebody should look."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from rich.cells import cell_len

from sluice.console import fleet as tables
from sluice.console.fleet import Fleet
from sluice.console.job import Job
from sluice.console.printing import PLAIN_WIDTH, plain
from sluice.console.trends import Trend
from sluice.console.trouble import Unreachable
from tests.console import resources
from tests.support.jobs import NOW

MADE = (
    resources.healthy("clicks"),
    resources.suspended("archive"),
    resources.failing("views"),
    resources.brand_new("advertisement"),
    resources.hostile("日本語"),
)
LOADS = {("shop", "clicks"): Trend(resources.MOUNTAIN[:15])}


def fleet(*bodies: resources.Json) -> Fleet:
    """Such jobs, of which one has a load."""
    return Fleet(jobs=[Job(body) for body in bodies or MADE], now=NOW, loads=LOADS)


def text(found: Fleet, width: int = PLAIN_WIDTH, height: int | None = None) -> str:
    """The table without colours."""
    return plain(tables.table(found, width, height), width)


@pytest.mark.parametrize("width", [PLAIN_WIDTH, 100, 60])
def test_the_table_looks_as_it_should(width: int, is_golden: Callable[[str, str], None]) -> None:
    is_golden(f"top-{'pipe' if width == PLAIN_WIDTH else width}", text(fleet(), width))


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(cell_len, text(fleet(), width).splitlines())) <= width


def test_jobs_with_a_problem_come_first() -> None:
    names = [job.name for job in fleet().ordered]
    assert names == ["advertisement", "views", "日本語", "archive", "clicks"]


def test_in_a_pipe_a_job_is_one_line_with_why_it_is_not_ready() -> None:
    (line,) = (one for one in text(fleet()).splitlines() if "views" in one)
    assert "DATA_SOURCE_NOT_FOUND" in line


def test_a_column_in_which_nothing_is_known_is_left_out() -> None:
    assert "BUDGET" in text(fleet())
    assert "BUDGET" not in text(fleet(resources.brand_new()))


def test_what_does_not_fit_on_the_screen_is_counted() -> None:
    lines = text(fleet(), 100, height=6).splitlines()
    assert len(lines) == 4
    assert lines[-1] == "... 6 more lines; -n shows one namespace"


def test_no_jobs_are_told_with_where_else_to_look() -> None:
    assert "in shop; -A shows those of all" in text(Fleet(jobs=[], now=NOW, namespace="shop"))
    assert text(Fleet(jobs=[], now=NOW)).strip() == "No StreamJobs in the cluster."


def test_without_jobs_it_is_told_as_well_that_the_cluster_is_away() -> None:
    stale = Fleet(jobs=[], now=NOW).stale(Unreachable("no answer"), NOW + timedelta(seconds=30))
    assert "As it was 30s ago: no answer" in text(stale)


def test_while_the_cluster_is_away_the_last_table_stays_with_its_age() -> None:
    stale = fleet().stale(Unreachable("no answer"), NOW + timedelta(seconds=30))
    still = stale.stale(Unreachable("no answer"), NOW + timedelta(seconds=45))
    assert "As it was 45s ago: no answer" in text(still)
    assert "clicks" in text(still)


@pytest.mark.parametrize(
    ("body", "is_fine"),
    [
        (resources.healthy(), True),
        (resources.suspended(), True),
        (resources.failing(), False),
        (resources.brand_new(), False),
        (resources.healthy(observedGeneration=0), False),
    ],
)
def test_a_fleet_is_fine_if_each_job_does_what_its_owner_wants(
    body: resources.Json, is_fine: bool
) -> None:
    assert fleet(body).is_fine is is_fine


def test_data_for_scripts_has_every_job_and_what_is_not_known() -> None:
    data = tables.data(Fleet(jobs=fleet().jobs, now=NOW, lack="no Prometheus"))
    assert [job["name"] for job in data["jobs"]][:2] == ["advertisement", "views"]
    assert data["jobs"][0]["fine"] is False
    assert data["notes"] == ["no Prometheus"]
