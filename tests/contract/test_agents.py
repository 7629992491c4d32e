"""What the adapter asks of an agent, and what it makes of the answer."""

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from sluice.adapters.agents import HttpAgents
from sluice.core.checkpoints import CheckpointReport
from sluice.core.learning.batches import BatchReport
from sluice.core.observations import AgentReport, ExecutorWork
from sluice.errors import AgentUnavailable
from tests.support.jobs import NOW

STATE: dict[str, Any] = {
    "version": 1,
    "phase": "running",
    "job": {"namespace": "shop", "name": "clicks", "uid": "u", "incarnation": 3},
    "spark": {"applicationId": "app-1"},
    "executors": {
        "target": 2,
        "registered": 1,
        "cpu": 81.5,
        "work": [{"id": "3", "seconds": 61.5, "tasks": 0, "batches": 5, "tasksOfAll": 57}],
    },
    "queries": [
        {
            "id": "q-1",
            "name": "clicks",
            "active": True,
            "lastBatch": {"id": 7, "committedAt": "2026-03-01T11:59:59Z"},
            "arrivalRowsPerSecond": 100.5,
            "processedRowsPerSecond": 99.0,
            "backlogRows": 40,
            "backlogSeconds": 1.5,
            "leftRows": 30,
            "latencySeconds": {"p50": 0.5, "p95": 2.0},
            "latencyWindowSeconds": 60.0,
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


class Agent:
    """An agent that gives one answer and keeps what it was asked."""

    def __init__(self, answer: httpx.Response | Exception) -> None:
        self._answer = answer
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def client(agent: Agent) -> HttpAgents:
    return HttpAgents(FixedClock(), transport=httpx.MockTransport(agent))


async def told(state: object) -> AgentReport:
    """What is read from a state."""
    async with client(Agent(httpx.Response(200, json=state))) as agents:
        return await agents.report("198.18.1.2", "secret")


def changed(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(STATE), **changes}


async def test_a_state_is_read_as_a_whole() -> None:
    report = await told(STATE)
    assert (report.at, report.phase, report.incarnation) == (NOW, "running", 3)
    assert (report.application_id, report.target, report.registered) == ("app-1", 2, 1)
    query = report.queries[0]
    assert (query.name, query.active, query.failure, query.batch_id) == ("clicks", True, None, 7)
    assert query.committed_at == datetime(2026, 3, 1, 11, 59, 59, tzinfo=UTC)
    assert (query.arrival_rate, query.processing_rate, query.backlog_rows) == (100.5, 99.0, 40)
    assert (query.backlog, query.latency["p95"]) == (timedelta(seconds=1.5), 2.0)
    assert query.left_rows == 30
    assert query.latency_window == 60.0
    assert (query.state_rows, query.state_bytes, query.state_partitions) == (10, 2000, 4)
    assert query.profile == "dropped"
    assert (report.executor_seconds, query.trigger_seconds, query.most_rows) == (81.5, 2.0, 900.0)


async def test_a_checkpoint_is_read_with_the_settings_that_a_user_can_give() -> None:
    assert (await told(STATE)).queries[0].checkpoint == CheckpointReport(
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


async def test_what_executors_did_is_read_where_an_agent_tells_it() -> None:
    there = timedelta(seconds=61.5)
    known = ExecutorWork(id="3", there=there, tasks=0, batches=5, tasks_of_all=57)
    assert (await told(STATE)).work == (known,)
    older = {"target": 2, "registered": 1, "cpu": 81.5}
    assert (await told(changed(executors=older))).work is None
    assert (await told(changed(executors={**older, "work": None}))).work is None
    with pytest.raises(AgentUnavailable, match="not understood"):
        await told(changed(executors={**older, "work": [{"id": "3"}]}))


async def test_what_is_not_known_yet_is_none() -> None:
    young = {"id": "q-1", "active": True, "lastBatch": None, "state": None, "error": None}
    report = await told(changed(spark=None, executors=None, queries=[young]))
    assert (report.application_id, report.target, report.registered) == (None, None, None)
    query = report.queries[0]
    assert query.name == "q-1"
    assert {query.batch_id, query.committed_at, query.backlog, query.state_rows} == {None}
    assert {report.executor_seconds, query.trigger_seconds, query.most_rows} == {None}
    assert (query.batches, query.checkpoint) == ((), None)


async def test_a_failed_query_says_why() -> None:
    dead = {"id": "q", "active": False, "error": {"class": "OFFSET_OUT_OF_RANGE", "message": "x"}}
    failure = (await told(changed(queries=[dead]))).queries[0].failure
    assert failure is not None
    assert (failure.error_class, failure.message) == ("OFFSET_OUT_OF_RANGE", "x")


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
        (httpx.Response(401, text="wrong token"), "401: wrong token"),
        (httpx.Response(500, text="boom"), "500: boom"),
        (httpx.Response(200, text="<html>"), "JSONDecodeError"),
        (httpx.Response(200, text=" " * (2**20 + 1)), "ValueError: more than 1048576 bytes"),
        (httpx.ConnectTimeout("too slow"), "ConnectTimeout"),
        (httpx.ConnectError("refused"), "ConnectError"),
    ],
    ids=["login", "failure", "a page", "too large", "slow", "nobody"],
)
async def test_an_agent_that_gives_no_answer_is_unavailable_and_it_is_said_why(
    answer: httpx.Response | Exception, says: str
) -> None:
    async with client(Agent(answer)) as agents:
        with pytest.raises(AgentUnavailable, match=f"GET /v1/state: {says}"):
            await agents.report("198.18.1.2", "secret")


async def test_an_agent_is_asked_at_its_port_with_its_jobs_token() -> None:
    agent = Agent(httpx.Response(200, json=STATE))
    async with client(agent) as agents:
        await agents.report("198.18.1.2", "secret")
        await agents.report("fd00::2", "secret")
    assert [str(request.url) for request in agent.requests] == [
        "http://198.18.1.2:8090/v1/state",
        "http://[fd00::2]:8090/v1/state",
    ]
    assert agent.requests[0].headers["authorization"] == "Bearer secret"


async def test_a_number_of_executors_is_posted_as_a_target() -> None:
    agent = Agent(httpx.Response(202, json={}))
    async with client(agent) as agents:
        await agents.set_executors("198.18.1.2", "secret", 5)
        await agents.decommission("198.18.1.2", "secret", ("3", "4"))
    assert [(sent.method, sent.url.path, json.loads(sent.content)) for sent in agent.requests] == [
        ("POST", "/v1/executors", {"target": 5}),
        ("POST", "/v1/decommission", {"executors": ["3", "4"]}),
    ]


async def test_limits_of_a_query_are_posted_and_none_is_the_programs_own() -> None:
    agent = Agent(httpx.Response(200, json={}))
    async with client(agent) as agents:
        await agents.set_limits(
            "198.18.1.2", "secret", "clicks", most_rows=900.0, trigger_seconds=None
        )
    sent = agent.requests[0]
    assert (sent.method, sent.url.path, json.loads(sent.content)) == (
        "POST",
        "/v1/limits",
        {"query": "clicks", "mostRows": 900.0, "triggerSeconds": None},
    )
