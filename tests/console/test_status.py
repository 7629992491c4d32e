"""The page of a job, as people see it: in a pipe, on a wide terminal, on a narrow one."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len

from sluice.console import sight as sights
from sluice.console import status
from sluice.console.page import Tone, drawn
from sluice.console.printing import PLAIN_WIDTH, plain
from sluice.console.sight import Lately, Sight
from sluice.console.slo import alarming_rate
from tests.console import resources
from tests.console.resources import HOUR, QUERIES, sight

NO_METRICS = Lately(span=HOUR, lack="the operator ops/sluice was given no Prometheus")

SIGHTS = {
    "healthy": sight(resources.healthy()),
    "several": sight(resources.healthy(), lately=replace(resources.lately(), queries=QUERIES)),
    "scaled": sight(resources.scaled()),
    "untried": sight(resources.with_untried_spark()),
    "waiting": sight(resources.with_waiting_tasks()),
    "failing": sight(resources.failing(), lately=NO_METRICS),
    "suspended": sight(resources.suspended(), events=()),
    "brand-new": sight(resources.brand_new(), lately=NO_METRICS, events=()),
    "hostile": sight(resources.hostile(), events_lack="events is forbidden"),
}


def text(seen: Sight, width: int = PLAIN_WIDTH) -> str:
    """The page without colours."""
    return plain(drawn(status.page(seen), width), width)


@pytest.mark.parametrize("name", SIGHTS)
def test_in_a_pipe_a_page_is_plain(name: str, is_golden: Callable[[str, str], None]) -> None:
    is_golden(f"status-{name}", text(SIGHTS[name]))


@pytest.mark.parametrize("name", SIGHTS)
def test_on_a_narrow_terminal_nothing_is_lost(
    name: str, is_golden: Callable[[str, str], None]
) -> None:
    is_golden(f"status-{name}-60", text(SIGHTS[name], 60))


@pytest.mark.parametrize("name", SIGHTS)
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(map(cell_len, text(SIGHTS[name], width).splitlines())) <= width


def test_of_one_query_nothing_is_told_twice() -> None:
    one = sight(resources.healthy(), lately=replace(resources.lately(), queries=QUERIES[:1]))
    assert text(one) == text(SIGHTS["healthy"])


def test_of_several_queries_no_batch_is_called_the_last() -> None:
    page = text(SIGHTS["several"])
    assert "Last batch" not in page
    assert "812" in page
    assert "Failed" in page


def test_other_peoples_texts_move_no_cursor_and_are_no_markup() -> None:
    page = text(SIGHTS["hostile"])
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "[bold]not markup[/bold]" in page
    assert "first second" in page


def test_what_a_condition_says_is_on_its_own_line_in_a_pipe() -> None:
    (line,) = (one for one in text(SIGHTS["failing"]).splitlines() if "DriverRunning" in one)
    assert "DATA_SOURCE_NOT_FOUND" in line


def test_without_prometheus_the_page_says_why_there_are_no_curves() -> None:
    page = text(SIGHTS["failing"])
    assert "No history: the operator ops/sluice was given no Prometheus" in page
    assert "▁" not in page


def test_the_percentile_is_the_declared_one() -> None:
    body = resources.healthy()
    body["spec"]["slo"] = {"latency": {"percentile": 0.99, "bound": "10s"}}
    assert "Latency p99  3.4s" in text(sight(body))


def test_how_a_job_is_profiled_by_itself_is_on_its_page() -> None:
    told = {
        "profile": "clicks-auto-2",
        "phase": "Failed",
        "points": "1: 1000",
        "reason": "BackingOff",
        "message": "clicks-auto-2 has failed, 1 in a row.",
    }
    page = " ".join(text(sight(resources.healthy(profiling=told))).split())
    assert (
        "Profiling clicks-auto-2: Failed; clicks-auto-2 has failed, 1 in a row; rows/s by executors: 1: 1000"
        in page
    )


def test_what_keeps_executors_away_is_on_the_page() -> None:
    short = resources.healthy()
    why = "The cluster refuses pods of executors: exceeded quota: tight."
    short["status"]["executors"] |= {"running": 1, "fault": why}
    lines = [" ".join(line.split()) for line in text(sight(short)).splitlines()]
    assert f"Fault {why}" in lines
    assert not [line for line in text(SIGHTS["healthy"]).splitlines() if "Fault" in line]


def test_what_prometheus_knew_is_not_taken_for_the_present() -> None:
    (line,) = (one for one in text(SIGHTS["suspended"]).splitlines() if "Processing" in one)
    assert line.split()[1] == "-"
    assert "max 490/s" in line


def test_a_newer_operators_words_are_shown_as_they_are() -> None:
    body = resources.healthy(
        phase="Dancing", conditions=[resources.condition("Balanced", "Perhaps", "Odd", "Unsure.")]
    )
    page = text(sight(body))
    assert "Dancing" in page
    assert "Balanced Perhaps Odd 2h00m Unsure." in " ".join(page.split())


def test_data_for_scripts_is_the_status_and_what_is_known_beside_it() -> None:
    data = sights.data(SIGHTS["healthy"])
    assert data["fine"] is True
    assert data["status"]["stream"]["latencyP95"] == 2.1
    assert data["trends"]["arriving"] == list(resources.MOUNTAIN)
    assert data["trends"]["processing"][0] is None
    assert [one["type"] for one in data["events"]] == ["Normal", "Warning"]


def test_data_says_what_could_not_be_seen() -> None:
    seen = replace(SIGHTS["healthy"], lately=NO_METRICS, events_lack="events is forbidden")
    assert sights.data(seen)["notes"] == [
        "No history: the operator ops/sluice was given no Prometheus",
        "No events: events is forbidden",
    ]


@pytest.mark.parametrize(
    ("slo", "rate"),
    [
        ({"window": "28d"}, 13.44),
        ({"window": "7d"}, 3.36),
        ({}, 13.44),
        ({"window": "1h"}, 1.0),
        ({"window": "a month"}, 13.44),
        ({"window": "9" * 20 + "d"}, 13.44),
    ],
)
def test_a_budget_burns_fast_where_the_alert_says_so(slo: dict[str, str], rate: float) -> None:
    assert alarming_rate({"slo": slo}) == pytest.approx(rate)


def test_a_rate_at_which_somebody_is_called_is_told_as_bad() -> None:
    body = resources.healthy()
    body["spec"]["slo"]["window"] = "7d"
    burning = sight(body, lately=replace(resources.lately(), burn_rate=10.0))
    (line,) = (
        line
        for section in status.page(burning).sections
        for line in section.lines
        if line.cells[0] == "Burning"
    )
    assert line.tone is Tone.BAD
