"""What the demo reads and shows, without a cluster."""

from demo import table
from demo.numbers import QUERIES, Numbers, from_prometheus, from_status, question
from demo.raising import has_ended, see_job


def sample(number: str, value: str, **labels: str) -> dict[str, object]:
    return {"metric": {"number": number, **labels}, "value": [0, value]}


def test_a_line_fits_into_100_columns_and_under_its_heading() -> None:
    lines = [
        *table.heading().splitlines(),
        table.row(
            Numbers(
                source="Prometheus",
                arriving=123456.7,
                throughput=123456.7,
                speed=123456.7,
                latency_p50=1234.5,
                latency_p95=1234.5,
                lag_rows=12345678,
                lag_seconds=123.4,
                running=10,
                wanted=10,
                batch=123456,
                incarnation=12,
            )
        ),
    ]
    assert {len(line) for line in lines} == {sum(column.width for column in table.COLUMNS)}
    assert len(lines[0]) <= 100
    assert all(len(line) <= 100 for line in table.LEGEND)


def test_what_is_not_known_is_a_dash_and_not_a_zero() -> None:
    cells = table.row(from_status({})).split()
    assert cells == ["StreamJob", *["-"] * 7, "-/-", "-", "-"]


def test_a_quantile_of_no_samples_is_not_known() -> None:
    answer = {"data": {"result": [sample("latency_p50", "NaN"), sample("lag_rows", "12")]}}
    told = from_prometheus(answer)
    assert told.latency_p50 is None
    assert told.lag_rows == 12


def test_the_incarnation_is_the_label_of_the_target() -> None:
    found = sample("incarnation", "1", sluice_dev_incarnation="7")
    assert from_prometheus({"data": {"result": [found]}}).incarnation == 7


def test_one_question_asks_for_every_number() -> None:
    asked = question()
    assert all(f'"number", "{name}"' in asked for name in QUERIES)
    assert set(QUERIES) == set(Numbers.__slots__) - {"source"}


def status(phase: str, ready: str, running: int) -> dict[str, object]:
    return {
        "metadata": {"generation": 2},
        "status": {
            "observedGeneration": 2,
            "phase": phase,
            "executors": {"running": running, "wanted": 2},
            "conditions": [{"type": "Ready", "status": ready, "message": "so it is"}],
        },
    }


def test_the_job_is_up_when_it_is_ready_with_all_executors() -> None:
    assert see_job(status("Running", "True", running=2)).done
    assert not see_job(status("Running", "True", running=1)).done
    assert not see_job(status("Starting", "False", running=2)).done


def test_a_status_of_an_older_spec_is_not_believed() -> None:
    resource = {**status("Running", "True", running=2), "metadata": {"generation": 3}}
    assert not see_job(resource).done


def test_waiting_for_a_suspended_job_is_in_vain_and_the_cure_is_named() -> None:
    assert "kubectl patch sj advertisement" in see_job(status("Suspended", "False", 0)).hopeless
    assert not see_job(status("BackingOff", "False", 0)).hopeless


def test_a_load_that_has_ended_is_told_from_one_that_runs() -> None:
    assert has_ended({"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
    assert not has_ended({"status": {"conditions": [{"type": "Complete", "status": "False"}]}})
    assert not has_ended({})
