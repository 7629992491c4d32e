"""The agents in the drivers, over HTTP with their job's token."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NoReturn, Self

from aiohttp import (
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)

from sluice.adapters.http import NO_ANSWER, is_success, why
from sluice.core import ownedconf
from sluice.core.checkpoints import PINNED, CheckpointReport
from sluice.core.learning.batches import BatchReport
from sluice.core.modelling.fetching import Fetching
from sluice.core.observations import (
    AgentReport,
    Asking,
    ExecutorWork,
    FailingTasks,
    Processing,
    QueryFailure,
    QueryReport,
)
from sluice.errors import AgentUnavailable
from sluice.manifests.names import AGENT_PORT
from sluice.ports import Clock, Json

_UNDERSTOOD = 1

LARGEST = 2**20
"""Bytes of an answer; twenty queries take 140 kB."""


class HttpAgents:
    """A client of all agents. Use it as an async context manager."""

    def __init__(
        self,
        clock: Clock,
        *,
        port: int = AGENT_PORT,
        deadline: float = 3.0,
    ) -> None:
        self._clock = clock
        self._port = port
        self._deadline = ClientTimeout(total=deadline)

    async def __aenter__(self) -> Self:
        self._session = ClientSession(
            connector=TCPConnector(force_close=True),
            cookie_jar=DummyCookieJar(),
            timeout=self._deadline,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def report(self, address: str, token: str) -> AgentReport:
        """What the agent at a pod's address tells now."""
        state = await self._call("GET", address, "/v1/state", token)
        try:
            return parse_state(state, self._clock.now())
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise AgentUnavailable(f"the agent's state is not understood: {error!r}") from error

    async def set_executors(self, address: str, token: str, target: int) -> None:
        """Ask for a number of executors."""
        await self._call("POST", address, "/v1/executors", token, {"target": target})

    async def decommission(self, address: str, token: str, executors: Sequence[str]) -> None:
        """Ask for other executors in place of these."""
        await self._call("POST", address, "/v1/decommission", token, {"executors": list(executors)})

    async def set_limits(
        self,
        address: str,
        token: str,
        query: str,
        *,
        most_rows: float | None,
        trigger_seconds: float | None,
    ) -> None:
        """Ask for another limit of rows and another trigger of a query; None is what its program has set."""
        wanted = {"query": query, "mostRows": most_rows, "triggerSeconds": trigger_seconds}
        await self._call("POST", address, "/v1/limits", token, wanted)

    async def _call(
        self, method: str, address: str, path: str, token: str, body: Json | None = None
    ) -> Json:
        try:
            async with self._session.request(
                method,
                agent_url(address, self._port, path),
                json=body,
                headers={"Authorization": f"Bearer {token}"},
                allow_redirects=False,
            ) as answer:
                content = await _bounded(answer)
            if not is_success(answer.status):
                text = content[:300].decode(errors="replace")
                raise AgentUnavailable(f"{method} {path}: {answer.status}: {text}")
            answered: Json = json.loads(content, parse_constant=_no_number)
        except NO_ANSWER as error:
            raise AgentUnavailable(f"{method} {path}: {why(error)}") from error
        return answered


def agent_url(address: str, port: int, path: str) -> str:
    """Where an agent answers, by the address of its pod."""
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{port}{path}"


def _no_number(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which JSON does not know and Python reads."""
    raise ValueError(f"{name} is no number")


async def _bounded(answer: ClientResponse) -> bytes:
    """The answer's body. User code shares the agent's process, and must not fill the operator's memory."""
    content = b""
    async for chunk in answer.content.iter_any():
        content += chunk
        if len(content) > LARGEST:
            raise ValueError(f"more than {LARGEST} bytes")
    return content


def parse_state(state: Json, at: datetime) -> AgentReport:
    """Read the answer of /v1/state. Raises what reading something else raises if it is not one."""
    if state["version"] != _UNDERSTOOD:
        raise ValueError(f"version {state['version']} is not {_UNDERSTOOD}")
    spark, executors = state.get("spark") or {}, state.get("executors") or {}
    return AgentReport(
        at=at,
        phase=state["phase"],
        incarnation=int(state["job"].get("incarnation") or 0),
        start=_start(state),
        running_at=_time(state.get("runningAt")),
        spark=spark.get("version"),
        application_id=spark.get("applicationId"),
        overridden={
            name: str(value)
            for name, value in (spark.get("overridden") or {}).items()
            if ownedconf.is_operators(name)
        },
        target=executors.get("target"),
        registered=executors.get("registered"),
        executor_seconds=executors.get("cpu"),
        work=_work(executors.get("work")),
        waiting_tasks=executors.get("waitingTasks"),
        failing=_failing(executors.get("failingTasks")),
        queries=tuple(_query(query) for query in state["queries"]),
    )


def _start(state: Json) -> float | None:
    """The seconds until the first query, once there was one; an older agent does not tell."""
    began, running = _time(state.get("startedAt")), _time(state.get("runningAt"))
    return None if began is None or running is None else (running - began).total_seconds()


def _work(work: list[dict[str, Any]] | None) -> tuple[ExecutorWork, ...] | None:
    """What executors did; an older agent does not tell."""
    if work is None:
        return None
    return tuple(
        ExecutorWork(
            id=str(one["id"]),
            there=timedelta(seconds=one["seconds"]),
            tasks=int(one["tasks"]),
            batches=int(one["batches"]),
            tasks_of_all=int(one["tasksOfAll"]),
        )
        for one in work
    )


def _failing(tasks: dict[str, Any] | None) -> FailingTasks | None:
    if tasks is None:
        return None
    return FailingTasks(
        failed=int(tasks["failed"]),
        completed=int(tasks["completed"]),
        error=str(tasks["error"] or ""),
    )


def _asking(asking: dict[str, Any] | None) -> Asking | None:
    since = _time((asking or {}).get("since"))
    return None if asking is None or since is None else Asking(str(asking["source"]), since)


def _query(query: dict[str, Any]) -> QueryReport:
    batch, failure, state = (
        query.get("lastBatch") or {},
        query.get("error"),
        query.get("state") or {},
    )
    waiting = query.get("backlogSeconds")
    return QueryReport(
        name=query.get("name") or query["id"],
        active=query["active"],
        processing=Processing(query.get("processing") or Processing.BATCHES),
        failure=failure and QueryFailure(failure.get("class") or "", failure.get("message") or ""),
        ended_at=_time(query.get("endedAt")),
        batch_id=batch.get("id"),
        committed_at=_time(batch.get("committedAt")),
        arrival_rate=query.get("arrivalRowsPerSecond"),
        processing_rate=query.get("processedRowsPerSecond"),
        backlog_rows=query.get("backlogRows"),
        backlog=timedelta(seconds=waiting) if waiting is not None else None,
        left_rows=query.get("leftRows"),
        latency=query.get("latencySeconds") or {},
        latency_window=query.get("latencyWindowSeconds"),
        state_rows=state.get("rows"),
        state_bytes=state.get("bytes"),
        state_partitions=state.get("partitions"),
        state_store=state.get("provider"),
        in_batch_since=_time(query.get("inBatchSince")),
        is_idle=bool(query.get("idle")),
        asking=_asking(query.get("asking")),
        batches=tuple(_batch(batch) for batch in query.get("batches") or ()),
        trigger_seconds=query.get("triggerSeconds"),
        most_rows=query.get("mostRows"),
        fetching=_fetching(query.get("fetching")),
        checkpoint=_checkpoint(query.get("checkpoint")),
        profile=(query.get("profile") or {}).get("kind"),
    )


def _fetching(fetching: dict[str, Any] | None) -> Fetching | None:
    if fetching is None:
        return None
    longest = float(fetching["longestWaitSeconds"])
    return Fetching(partitions=int(fetching["partitions"]), longest=longest)


def _checkpoint(checkpoint: dict[str, Any] | None) -> CheckpointReport | None:
    if checkpoint is None:
        return None
    settings = checkpoint.get("settings") or {}
    return CheckpointReport(
        location=checkpoint.get("location") or "",
        last_batch=checkpoint.get("lastBatch"),
        committed_at=_time(checkpoint.get("committedAt")),
        format_version=checkpoint.get("formatVersion"),
        # One string for all jobs: thousands of them have the same.
        settings={name: sys.intern(settings[name]) for name in PINNED if name in settings},
    )


def _batch(batch: dict[str, Any]) -> BatchReport:
    start = _time(batch["startedAt"])
    if start is None:
        raise ValueError(f"batch {batch['id']} began at no time")
    return BatchReport(
        start=start.timestamp(),
        seconds=float(batch["durationSeconds"]),
        rows=float(batch["rows"]),
        executors=int(batch["executors"]),
        cold=bool(batch["cold"]),
        offsets=None if batch.get("offsets") is None else float(batch["offsets"]),
    )


def _time(text: str | None) -> datetime | None:
    """A time with its zone: one without could not be compared with ours."""
    moment = datetime.fromisoformat(text) if text else None
    if moment is not None and moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment
