"""The verbs over a real socket, without Spark; `test_streaming` and `test_executors` have them with it."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from sluice.agent import server
from sluice.agent.polling import Poller
from sluice.agent.settings import from_environment
from sluice.agent.snapshot import Snapshot
from sluice.agent.spark import Spark
from sluice.agent.stopping import Stopping
from sluice.agent.verbs import LONGEST_BODY, Verbs
from tests.agent.building import BEGIN

TOKEN = "secret"


class Agent:
    """An agent without a program, whose clock is set by hand."""

    def __init__(self, token_file: Path | str) -> None:
        self.now = BEGIN
        spark = Spark()
        snapshot = Snapshot(settings=from_environment({}), started_at=BEGIN, taken_at=BEGIN)
        self.poller = Poller(spark, snapshot, now=lambda: self.now)
        stopping = Stopping(spark, deadline_seconds=0, on_stop=lambda: None, on_exit=lambda: None)
        answer = Verbs(self.poller, spark, stopping, str(token_file)).answer
        self.port = server.start(0, answer)

    def ask(
        self, method: str, path: str, body: bytes = b"", token: str | None = TOKEN
    ) -> tuple[int, Any]:
        assert self.port is not None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(text) if is_json else text


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN + "\n")
    return Agent(token_file)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_agent_answers_at_addresses_of_both_families(address: str, agent: Agent) -> None:
    if address == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("this kernel has no IPv6")
    assert agent.port is not None
    connection = http.client.HTTPConnection(address, agent.port, timeout=10)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    connection.close()


def test_the_agent_answers_where_the_kernel_has_no_ipv6(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("all other tests show it")
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    agent = Agent(tmp_path / "token")
    assert agent.ask("GET", "/healthz", token=None)[0] == 200
    with socket.socket(socket.AF_INET6) as one:
        assert one.connect_ex(("::1", agent.port or 0)) != 0


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
def test_health_and_metrics_need_no_token(path: str, agent: Agent) -> None:
    assert agent.ask("GET", path, token=None)[0] == 200


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", "sécret"])
def test_a_verb_without_the_token_is_refused(token: str | None, agent: Agent) -> None:
    assert agent.ask("GET", "/v1/state", token=token)[0] == 401


def test_the_state_is_answered_to_the_token(agent: Agent) -> None:
    status, document = agent.ask("GET", "/v1/state")

    assert (status, document["version"], document["queries"]) == (200, 1, [])


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_without_a_token_configured_every_verb_is_forbidden(
    content: str | None, tmp_path: Path
) -> None:
    token_file = tmp_path / "token"
    if content is not None:
        token_file.write_text(content)

    status, answer = Agent(token_file if content is not None else "").ask("GET", "/v1/state")

    assert status == 403
    assert "SLUICE_AGENT_TOKEN_FILE" in answer["error"]


def test_a_token_that_was_renewed_is_the_one_that_counts(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("renewed")

    assert agent.ask("GET", "/v1/state", token=TOKEN)[0] == 401
    assert agent.ask("GET", "/v1/state", token="renewed")[0] == 200


def test_an_unknown_path_is_not_found(agent: Agent) -> None:
    assert agent.ask("GET", "/v1/exec")[0] == 404
    assert agent.ask("GET", "/", token=None)[0] == 404


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/state"), ("GET", "/v1/stop"), ("DELETE", "/metrics")]
)
def test_a_wrong_method_is_told_the_right_one(method: str, path: str, agent: Agent) -> None:
    status, answer = agent.ask(method, path)

    assert status == 405
    assert "is asked with" in answer["error"]


@pytest.mark.parametrize(
    "body", ["", "no", "[]", "{}", '{"target": "2"}', '{"target": -1}', '{"target": true}']
)
def test_a_bad_target_is_refused_by_name(body: str, agent: Agent) -> None:
    status, answer = agent.ask("POST", "/v1/executors", body.encode())

    assert status == 400
    assert "target" in answer["error"]


@pytest.mark.parametrize("body", ["", "no", "[]", "{}", '{"executors": "2"}', '{"executors": [2]}'])
def test_bad_executors_are_refused_by_name(body: str, agent: Agent) -> None:
    status, answer = agent.ask("POST", "/v1/decommission", body.encode())

    assert status == 400
    assert "executors" in answer["error"]


def test_replacing_before_spark_is_there_is_a_conflict(agent: Agent) -> None:
    status, answer = agent.ask("POST", "/v1/decommission", b'{"executors": ["2"]}')

    assert (status, "later" in answer["error"]) == (409, True)


def test_scaling_before_spark_is_there_is_a_conflict(agent: Agent) -> None:
    status, answer = agent.ask("POST", "/v1/executors", b'{"target": 2}')

    assert (status, "later" in answer["error"]) == (409, True)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("no", "body"),
        ("{}", "query"),
        ('{"query": 7}', "query"),
        ('{"query": "orders", "mostRows": 0}', "mostRows"),
        ('{"query": "orders", "mostRows": true}', "mostRows"),
        ('{"query": "orders", "mostRows": NaN}', "mostRows"),
        ('{"query": "orders", "mostRows": 1e300}', "mostRows"),
        ('{"query": "orders", "triggerSeconds": -1}', "triggerSeconds"),
        ('{"query": "orders", "triggerSeconds": "1s"}', "triggerSeconds"),
    ],
)
def test_bad_limits_are_refused_by_name(body: str, named: str, agent: Agent) -> None:
    status, answer = agent.ask("POST", "/v1/limits", body.encode())

    assert status == 400
    assert named in answer["error"]


def test_limits_of_a_query_that_does_not_run_are_a_conflict(agent: Agent) -> None:
    status, answer = agent.ask("POST", "/v1/limits", b'{"query": "orders", "mostRows": 9}')

    assert (status, "'orders'" in answer["error"]) == (409, True)


def test_a_body_beyond_the_limit_is_not_read(agent: Agent) -> None:
    assert agent.ask("POST", "/v1/executors", b" " * (LONGEST_BODY + 1))[0] == 413


def test_health_fails_when_the_loop_stands_still(agent: Agent) -> None:
    agent.now = BEGIN + 31

    assert agent.ask("GET", "/healthz")[0] == 503


def test_a_poll_without_spark_keeps_the_agent_healthy(agent: Agent) -> None:
    agent.now = BEGIN + 31
    agent.poller.poll()

    assert agent.ask("GET", "/healthz")[0] == 200
