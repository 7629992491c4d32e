"""What the demo reads of the product, without a cluster."""

from demo import looks, numbers
from demo.looks import Recovery
from demo.numbers import Numbers
from demo.words import seconds_of
from tests.demo.stories import event, streamjob, streamprofile


def test_what_is_not_told_is_not_known_and_no_zero() -> None:
    found = looks.read([], Numbers(), 3.0)
    assert (found.arriving, found.latency_p95, found.lag_rows, found.predicted) == (None,) * 4
    assert (found.at, found.chosen, found.recovering, found.is_ready) == (3.0, None, None, False)


def test_the_status_of_the_job_is_read() -> None:
    job = streamjob(
        phase="Running",
        incarnation=2,
        executors={"wanted": 3, "running": 2},
        stream={"arrivalRate": 140.5, "latencyP95": 3.1, "lagRows": 12},
        decision={
            "reason": "3 executors will do",
            "likelyRecovery": 131.2,
            "expectedRecovery": 160.0,
        },
        chosen={"executors": 3, "decision": "d", "path": "Live", "at": ""},
        conditions=[{"type": "Ready", "status": "True", "message": "It runs."}],
    )
    found = looks.read([job], Numbers(), 0.0)
    assert (found.wanted, found.running, found.incarnation) == (3, 2, 2)
    assert (found.arriving, found.latency_p95, found.lag_rows) == (140.5, 3.1, 12)
    assert (found.decision, found.predicted) == ("3 executors will do", 131.2)
    assert found.planned == 160.0
    assert found.chosen is not None
    assert (found.chosen.executors, found.chosen.path) == (3, "Live")
    assert found.is_ready
    assert not found.is_calm, "an executor is missing"


def test_a_recovery_has_its_stages_and_is_over_when_it_has_caught_up() -> None:
    begun = {"cause": "DriverLoss", "incarnation": 2, "began": "12:00", "detection": 0.4}
    job = streamjob(recoveries={"present": begun, "past": [{**begun, "caughtUp": 47.5}]})
    found = looks.read([job], Numbers(), 0.0)
    assert found.recovering == Recovery(began="12:00", stages={"detection": 0.4})
    assert found.recovering.seconds is None
    assert found.recovered[0].seconds == 47.5


def test_the_points_of_the_profile_are_in_the_order_of_executors() -> None:
    points = [{"executors": 2, "rowsPerSecond": 231.0}, {"executors": 1, "rowsPerSecond": 118.0}]
    found = looks.read([streamprofile(phase="Succeeded", points=points)], Numbers(), 0.0).profile
    assert found.points == ((1, 118.0), (2, 231.0))
    assert found.is_over


def test_events_of_other_objects_are_left_out_and_the_rest_is_in_order() -> None:
    listed = [
        event("Recovered", at=9),
        event("Profiled", kind="StreamProfile", name="enrichment-1", at=3),
        event("Pulled", kind="Pod", name="enrichment-driver"),
        event("Rescaling", name="another"),
    ]
    found = looks.read(listed, Numbers(), 0.0).events
    assert [one.reason for one in found] == ["Profiled", "Recovered"]


def test_a_message_cannot_move_the_cursor() -> None:
    found = looks.read([event("DriverFailed", "exit code 1\n\x1b[2J gone")], Numbers(), 0.0)
    assert found.events[0].message == "exit code 1 ?[2J gone"


def test_the_running_pod_of_an_app_is_found_among_the_objects() -> None:
    def pod(name: str, phase: str) -> dict[str, object]:
        metadata = {"name": name, "labels": {"app": "prometheus"}}
        return {"kind": "Pod", "metadata": metadata, "status": {"phase": phase}}

    listed = [streamjob(), pod("ended", "Failed"), pod("runs", "Running")]
    assert looks.running_pod(listed, "prometheus") == "runs"
    assert looks.running_pod(listed, "kafka") == ""


def test_one_question_asks_for_every_number() -> None:
    asked = numbers.question(15.0)
    assert all(f'"number", "{name}"' in asked for name in numbers.queries(15.0))
    assert set(numbers.queries(15.0)) == set(Numbers.__slots__)
    assert 'le="15.0"' in asked


def test_what_is_not_a_number_is_not_known() -> None:
    def sample(name: str, value: str) -> dict[str, object]:
        return {"metric": {"number": name}, "value": [0, value]}

    told = numbers.read({"data": {"result": [sample("capacity", "NaN"), sample("records", "12")]}})
    assert told == Numbers(records=12.0)


def test_durations_of_a_spec_are_seconds() -> None:
    assert [seconds_of(text) for text in ("90s", "4m", "1h30m", "500ms")] == [90, 240, 5400, 0.5]
