"""What the adapter asks of an agent, and what it makes of the answer."""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.adapters.agents import HttpAgents, agent_url
from sluice.core.checkpoints import CheckpointReport
from sluice.core.learning.batches import BatchReport
from sluice.core.modelling.fetching import Fetching
from sluice.core.observations import AgentReport, Asking, ExecutorWork, FailingTasks, Processing
from sluice.errors import AgentUnavailable
from tests.support.http import CUT_OFF, Answer, Server, telling
from tests.support.jobs import NOW
from tests.support.texts import TOO_DEEP

HOST = "127.0.0.1"

STATE: dict[str, Any] = {
    "version": 1,
    "phase": "running",
    "job": {"namespace": "shop", "name": "clicks", "uid": "u", "incarnation": 3},
    "spark": {"version": "4.2.0", "applicationId": "app-1"},
    "executors": {
        "target": 2,
        "registered": 1,
        "cpu": 81.5,
        "work": [{"id": "3", "seconds": 61.5, "tasks": 0, "batches": 5, "tasksOfAll": 57}],
        "waitingTasks": 12,
        "failingTasks": None,
    },
    "queries": [
        {
            "id": "q-1",
            "name": "clicks",
            "active": True,
            "processing": "realTime",
            "idle": True,
            "lastBatch": {"id": 7, "committedAt": "2026-03-01T11:59:59Z"},
            "arrivalRowsPerSecond": 100.5,
            "processedRowsPerSecond": 99.0,
            "backlogRows": 40,
            "backlogSeconds": 1.5,
            "leftRows": 30,
            "latencySeconds": {"p50": 0.5, "p95": 2.0},
            "latencyWindowSeconds": 60.0,
            "asking": {"source": "KafkaV2[Subscribe[clicks]]", "since": "2026-03-01T11:59:30.000Z"},
            "state": {"rows": 10, "bytes": 2000, "partitions": 4},
            "batches": [
                {
                    "id": 7,
                    "startedAt": "2026-03-01T11:59:57.500Z",
                    "durationSeconds": 1.5,
                    "rows": 150.0,
                    "executors": 1,
                    "cold": True,
                    "offsets": 900.0,
                    "processedRowsPerSecond": 100.0,
                }
            ],
            "triggerSeconds": 2.0,
            "mostRows": 900.0,
            "fetching": {"partitions": 24, "longestWaitSeconds": 0.5},
            "checkpoint": {
                "location": "file:/checkpoint/clicks",
                "lastBatch": 6,
                "committedAt": "2026-03-01T11:58:00.000Z",
                "formatVersion": "v1",
                "settings": {"spark.sql.shuffle.partitions": "4", "spark.sql.other": "x"},
            },
            "profile": {"sink": "kafka", "kind": "dropped"},
        }
    ],
}


class FixedClock:
    """It is always NOW."""

    def now(self) -> datetime:
        return NOW


def client(agent: Server) -> HttpAgents:
    return HttpAgents(FixedClock(), port=agent.port, deadline=0.5)


async def told(state: object) -> AgentReport:
    """What is read from a state."""
    async with Server(telling(state)) as agent, client(agent) as agents:
        return await agents.report(HOST, "secret")


def changed(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(STATE), **changes}


async def test_a_state_is_read_as_a_whole() -> None:
    report = await told(STATE)
    assert (report.at, report.phase, report.incarnation) == (NOW, "running", 3)
    assert (report.application_id, report.target, report.registered) == ("app-1", 2, 1)
    assert report.spark == "4.2.0"
    query = report.queries[0]
    assert (query.name, query.active, query.failure, query.batch_id) == ("clicks", True, None, 7)
    assert query.committed_at == datetime(2026, 3, 1, 11, 59, 59, tzinfo=UTC)
    assert (query.arrival_rate, query.processing_rate, query.backlog_rows) == (100.5, 99.0, 40)
    assert (query.backlog, query.latency["p95"]) == (timedelta(seconds=1.5), 2.0)
    assert query.left_rows == 30
    assert query.fetching == Fetching(partitions=24, longest=0.5)
    assert query.is_idle
    assert query.latency_window == 60.0
    assert query.asking == Asking("KafkaV2[Subscribe[clicks]]", NOW - timedelta(seconds=30))
    assert (query.state_rows, query.state_bytes, query.state_partitions) == (10, 2000, 4)
    assert query.profile == "dropped"
    assert query.processing is Processing.REAL_TIME
    assert (report.executor_seconds, query.trigger_seconds, query.most_rows) == (81.5, 2.0, 900.0)


async def test_of_the_settings_that_a_program_has_otherwise_those_are_read_that_we_decide() -> None:
    others = {"spark.app.name": "mine", "spark.locality.wait": "3s", "spark.executor.cores": "2"}
    changed = {**STATE, "spark": {**STATE["spark"], "overridden": others}}
    assert (await told(changed)).overridden == {"spark.executor.cores": "2"}
    assert (await told(STATE)).overridden == {}, "an older agent does not tell"


async def test_a_checkpoint_is_read_with_the_settings_that_a_user_can_give() -> None:
    assert (await told(STATE)).queries[0].checkpoint == CheckpointReport(
        location="file:/checkpoint/clicks",
        last_batch=6,
        committed_at=datetime(2026, 3, 1, 11, 58, tzinfo=UTC),
        format_version="v1",
        settings={"spark.sql.shuffle.partitions": "4"},
    )


async def test_a_batch_is_read_with_the_instant_of_its_beginning() -> None:
    (batch,) = (await told(STATE)).queries[0].batches
    began = datetime(2026, 3, 1, 11, 59, 57, 500_000, tzinfo=UTC).timestamp()
    assert batch == BatchReport(
        start=began, seconds=1.5, rows=150, executors=1, cold=True, offsets=900
    )
    assert batch.end == began + 1.5


async def test_a_start_is_read_once_there_was_a_query_from_an_agent_that_tells_it() -> None:
    moments = {"startedAt": "2026-03-01T11:58:00.000Z", "runningAt": "2026-03-01T11:58:21.500Z"}
    report = await told(changed(**moments))
    assert report.start == 21.5
    assert report.running_at == datetime(2026, 3, 1, 11, 58, 21, 500_000, tzinfo=UTC)
    assert (await told(changed(**{**moments, "runningAt": None}))).start is None
    assert (await told(STATE)).start is None


async def test_tasks_that_fail_are_read_with_their_error() -> None:
    def failing(error: str | None) -> dict[str, Any]:
        tasks = {"failed": 3, "completed": 1, "error": error}
        return changed(executors={**STATE["executors"], "failingTasks": tasks})

    assert (await told(STATE)).failing is None
    assert (await told(failing("Boom: no"))).failing == FailingTasks(
        failed=3, completed=1, error="Boom: no"
    )
    assert (await told(failing(None))).failing == FailingTasks(failed=3, completed=1)


async def test_what_executors_did_is_read_where_an_agent_tells_it() -> None:
    there = timedelta(seconds=61.5)
    known = ExecutorWork(id="3", there=there, tasks=0, batches=5, tasks_of_all=57)
    assert (await told(STATE)).work == (known,)
    older = {"target": 2, "registered": 1, "cpu": 81.5}
    assert (await told(STATE)).waiting_tasks == 12
    assert (await told(changed(executors=older))).waiting_tasks is None
    assert (await told(changed(executors=older))).work is None
    assert (await told(changed(executors=older))).failing is None
    assert (await told(changed(executors={**older, "work": None}))).work is None
    with pytest.raises(AgentUnavailable, match="not understood"):
        await told(changed(executors={**older, "work": [{"id": "3"}]}))


async def test_what_is_not_known_yet_is_none() -> None:
    young = {"id": "q-1", "active": True, "lastBatch": None, "state": None, "error": None}
    report = await told(changed(spark=None, executors=None, queries=[young]))
    assert (report.application_id, report.target, report.registered) == (None, None, None)
    query = report.queries[0]
    assert query.name == "q-1"
    assert query.processing is Processing.BATCHES, "as with an agent that does not tell"
    assert {query.batch_id, query.committed_at, query.backlog, query.state_rows} == {None}
    assert {report.executor_seconds, query.trigger_seconds, query.most_rows} == {None}
    assert (query.batches, query.checkpoint, query.fetching) == ((), None, None)


async def test_a_failed_query_says_why() -> None:
    dead = {"id": "q", "active": False, "error": {"class": "OFFSET_OUT_OF_RANGE", "message": "x"}}
    failure = (await told(changed(queries=[dead]))).queries[0].failure
    assert failure is not None
    assert (failure.error_class, failure.message) == ("OFFSET_OUT_OF_RANGE", "x")


async def test_the_end_of_a_query_is_read_where_an_agent_tells_it() -> None:
    ended = {"id": "q", "active": False, "endedAt": "2026-03-01T11:59:30.500Z"}
    (query,) = (await told(changed(queries=[ended]))).queries
    assert query.ended_at == datetime(2026, 3, 1, 11, 59, 30, 500_000, tzinfo=UTC)
    assert (await told(STATE)).queries[0].ended_at is None, "of an older agent"


@pytest.mark.parametrize(
    "state",
    [
        [],
        "running",
        {},
        changed(version=2),
        changed(job=None),
        changed(queries=None),
        changed(queries=[7]),
        changed(queries=[{"id": "q", "active": True, "backlogSeconds": "long"}]),
        changed(queries=[{"id": "q", "active": True, "backlogSeconds": 1e15}]),
        changed(queries=[{"id": "q", "active": True, "batches": [{"id": 7}]}]),
        changed(queries=[{"id": "q", "active": True, "batches": [{"id": 7, "startedAt": ""}]}]),
        changed(queries=[{"id": "q", "active": True, "lastBatch": {"committedAt": "yesterday"}}]),
        changed(queries=[{"id": "q", "active": True, "lastBatch": {"committedAt": "2026-03-01"}}]),
    ],
    ids=repr,
)
async def test_a_state_that_is_none_is_no_report(state: object) -> None:
    with pytest.raises(AgentUnavailable, match="not understood"):
        await told(state)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(401, "wrong token"), "401: wrong token"),
        (Answer(500, "boom"), "500: boom"),
        (Answer(302, "elsewhere", {"Location": "/login"}), "302: elsewhere"),
        (Answer(200, "<html>"), "JSONDecodeError"),
        (Answer(200, '{"version": 1, "backlogRows": NaN}'), "ValueError: NaN is no number"),
        (Answer(200, " " * (2**20 + 1)), "ValueError: more than 1048576 bytes"),
        (Answer(200, TOO_DEEP), "RecursionError: "),
        (Answer(200, after=1.5), "no answer in time$"),
        (CUT_OFF, "ServerDisconnectedError|ClientOSError"),
    ],
    ids=[
        "login",
        "failure",
        "redirection",
        "a page",
        "no number",
        "too large",
        "too deep",
        "slow",
        "cut off",
    ],
)
async def test_an_agent_that_gives_no_answer_is_unavailable_and_it_is_said_why(
    answer: Answer, says: str
) -> None:
    async with Server(answer, answer) as agent, client(agent) as agents:
        with pytest.raises(AgentUnavailable, match=f"GET /v1/state: ({says})"):
            await agents.report(HOST, "secret")


async def test_a_pod_where_nobody_listens_is_unavailable() -> None:
    async with Server() as agent:
        pass
    async with client(agent) as agents:
        with pytest.raises(AgentUnavailable, match=r"GET /v1/state: ClientConnectorError: "):
            await agents.report(HOST, "secret")


async def test_an_agent_is_asked_with_its_jobs_token_over_a_connection_of_its_own() -> None:
    async with Server(telling(STATE), telling(STATE)) as agent, client(agent) as agents:
        await agents.report(HOST, "secret")
        await agents.report(HOST, "secret")
    assert [(sent.method, sent.path) for sent in agent.requests] == [("GET", "/v1/state")] * 2
    assert agent.requests[0].headers["authorization"] == "Bearer secret"
    assert agent.requests[0].headers["connection"] == "close"


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("198.18.1.2", "http://198.18.1.2:8090/v1/state"),
        ("fd00::2", "http://[fd00::2]:8090/v1/state"),
    ],
)
def test_a_pods_address_becomes_a_url(address: str, url: str) -> None:
    assert agent_url(address, 8090, "/v1/state") == url


async def test_a_number_of_executors_is_posted_as_a_target() -> None:
    async with Server(Answer(202)) as agent, client(agent) as agents:
        await agents.set_executors(HOST, "secret", 5)
        await agents.decommission(HOST, "secret", ("3", "4"))
    assert [(sent.method, sent.path, sent.json) for sent in agent.requests] == [
        ("POST", "/v1/executors", {"target": 5}),
        ("POST", "/v1/decommission", {"executors": ["3", "4"]}),
    ]


async def test_limits_of_a_query_are_posted_and_none_is_the_programs_own() -> None:
    async with Server() as agent, client(agent) as agents:
        await agents.set_limits(HOST, "secret", "clicks", most_rows=900.0, trigger_seconds=None)
    sent = agent.only
    assert (sent.method, sent.path, sent.json) == (
        "POST",
        "/v1/limits",
        {"query": "clicks", "mostRows": 900.0, "triggerSeconds": None},
    )
