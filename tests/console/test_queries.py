"""The queries of a job, one by one, and what becomes of Prometheus' answer."""

from datetime import timedelta

import pytest

from sluice import catalogue
from sluice.console import queries
from sluice.console.queries import Query
from sluice.ports import Labelled
from tests.docs.pages import ROOT
from tests.support.jobs import NOW
from tests.support.promql import metrics_in

QUESTION = queries.question("shop", "clicks", 0.95)


def told(query: str, number: str, value: float) -> Labelled:
    """One number of a query, as Prometheus answers."""
    return Labelled({"query": query, "number": number}, ((NOW, value),))


def test_only_what_is_exported_is_asked_for() -> None:
    exported = {series for metric in catalogue.ALL for series in metric.series}
    assert metrics_in(QUESTION) <= exported
    assert QUESTION.count('{namespace="shop",job="clicks"}') == len(metrics_in(QUESTION)) == 9


def test_each_number_is_that_of_its_query_and_others_are_not_known() -> None:
    answer = [
        told("visits", "lag", 7.0),
        told("clicks", "batch", 3.0),
        told("visits", "batch", 9.0),
    ]
    assert queries.queries(answer) == (
        Query(name="clicks", batch=3.0),
        Query(name="visits", batch=9.0, lag=7.0),
    )


def test_every_number_that_is_asked_for_is_taken() -> None:
    numbers = [name for name in Query.__dataclass_fields__ if name != "name"]
    (found,) = queries.queries([told("clicks", number, 1.0) for number in numbers])
    assert all(getattr(found, number) == 1.0 for number in numbers)
    assert all(f'"number", "{number}"' in QUESTION for number in numbers)


@pytest.mark.parametrize(
    ("active", "failures", "state"),
    [(1.0, 0.0, "Running"), (1.0, 2.0, "Running"), (0.0, 0.0, "Ended"), (0.0, 1.0, "Failed")],
)
def test_a_query_that_does_not_run_has_ended_or_failed(
    active: float, failures: float, state: str
) -> None:
    answer = [told("clicks", "is_active", active), told("clicks", "failures", failures)]
    (found,) = queries.queries(answer)
    assert found.state == state
    assert queries.data(found)["state"] == state


def test_of_many_queries_those_that_do_not_run_are_shown_and_the_others_counted() -> None:
    many = [Query(name=f"query-{number:02}", is_active=number != 23) for number in range(24)]
    header, first, *others, more = queries.lines(many, "p95", NOW)
    assert header.cells[0] == "QUERY"
    assert first.cells[:2] == ("query-23", "Ended")
    assert [line.cells[0] for line in others] == [f"query-{number:02}" for number in range(19)]
    assert more.cells[0] == "4 more"
    assert len(list(queries.lines(many[:20], "p95", NOW))) == 21


def test_rows_that_are_lost_unread_or_nearly_so_are_told() -> None:
    calm = Query(name="clicks", retention_used=0.8, expired=0.0)
    assert list(queries.losses([calm, Query(name="visits")])) == []
    (near,) = queries.losses([calm, Query(name="visits", retention_used=0.93)])
    assert near.cells == ("Expiring",)
    assert near.detail == "93 % of what its source keeps waits for query visits"
    (lost,) = queries.losses([Query(name="clicks", expired=130.0)])
    assert lost.cells == ("Expired",)
    assert "130 rows" in lost.detail


def test_near_the_end_of_retention_is_where_the_alert_has_it() -> None:
    rules = (ROOT / "charts/sluice/rules/streams.yaml").read_text()
    assert f"sluice_query_retention_used_ratio > {queries.NEAR:g}" in rules


def test_for_scripts_a_commit_is_a_moment() -> None:
    committed = NOW - timedelta(seconds=4)
    (found,) = queries.queries([told("clicks", "committed", committed.timestamp())])
    assert queries.data(found)["committedAt"] == committed.isoformat()
    assert queries.data(found)["lagRows"] is None
