"""What the adapter asks of a metrics' server, and what it makes of good, bad and strange answers."""

import gzip
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from sluice.adapters.prometheus import Endpoint, PrometheusServer
from sluice.errors import MetricsUnavailable
from sluice.ports import Labelled
from tests.support.texts import TOO_DEEP

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Asked:
    """One request as the server got it."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        address = urlparse(handler.path)
        self.path = address.path
        self.parameters = {key: values[0] for key, values in parse_qs(address.query).items()}
        self.headers = dict(handler.headers)


Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[Endpoint, list[Asked]]]:
    """A server on loopback that gives this answer to everything, and what it was asked."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append(Asked(self))
            answer(self)

        def log_message(self, *_: Any) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        yield Endpoint(url=url, deadline=0.5, largest=100_000), asked
    finally:
        server.shutdown()
        server.server_close()


def body(data: Any, status: int = 200) -> Answer:
    """An answer of JSON."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        text = (data if isinstance(data, str) else json.dumps(data)).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    return answer


def vector(*values: Any, **labels: str) -> Answer:
    """The answer to an instant query: a series for each value."""
    result = [
        {"metric": {**labels, "n": str(number)}, "value": [AT.timestamp(), value]}
        for number, value in enumerate(values)
    ]
    return body({"status": "success", "data": {"resultType": "vector", "result": result}})


async def now(endpoint: Endpoint) -> list[Labelled]:
    async with PrometheusServer(endpoint) as server:
        return await server.now("up")


async def test_series_are_told_with_labels_time_and_value() -> None:
    with serving(vector("1.5", job='a"ñ\n"')) as (endpoint, asked):
        assert await now(endpoint) == [
            Labelled(labels={"job": 'a"ñ\n"', "n": "0"}, samples=((AT, 1.5),))
        ]
    assert asked[0].path == "/api/v1/query"
    assert asked[0].parameters["query"] == "up"
    assert asked[0].parameters["limit"] == "20000"
    assert "time" not in asked[0].parameters, "our clock may differ from the server's"


async def test_numbers_that_are_none_are_left_out() -> None:
    with serving(vector("NaN", "+Inf", "-Inf", "0")) as (endpoint, _):
        assert [one.labels["n"] for one in await now(endpoint)] == ["3"]


async def test_a_history_is_asked_for_by_start_end_and_step() -> None:
    matrix = {"data": {"result": [{"metric": {}, "values": [[1, "1"], [2, "NaN"], [3, "3"]]}]}}
    with serving(body(matrix)) as (endpoint, asked):
        async with PrometheusServer(endpoint) as server:
            found = await server.history("up", AT, AT + timedelta(hours=1), timedelta(seconds=30))
    assert [value for _, value in found[0].samples] == [1, 3]
    wanted = {"start": AT.timestamp(), "end": AT.timestamp() + 3600, "step": 30}
    assert {key: float(asked[0].parameters[key]) for key in wanted} == wanted


PART = {
    "status": "success",
    "data": {"result": [{"metric": {}, "value": [1, "7"], "values": [[1, "7"]]}]},
    "warnings": ["store 10.0.0.7: no connection"],
}
"""What Thanos answers while one of its stores is away."""


async def test_a_part_of_an_answer_is_none() -> None:
    with (
        serving(body(PART)) as (endpoint, _),
        pytest.raises(MetricsUnavailable, match=r"missing: store 10\.0\.0\.7: no connection$"),
    ):
        await now(endpoint)


async def test_a_history_has_gaps_where_a_part_is_missing() -> None:
    with serving(body(PART)) as (endpoint, _):
        async with PrometheusServer(endpoint) as server:
            found = await server.history("up", AT, AT + timedelta(hours=1), timedelta(seconds=30))
    assert [value for _, value in found[0].samples] == [7]


@pytest.mark.parametrize(
    "told",
    [
        {"warnings": []},
        {"warnings": None},
        {"infos": ["slow"]},
        {"warnings": ["PromQL info: metric might not be a counter, name does not end in _total"]},
    ],
)
async def test_an_answer_without_a_warning_is_whole(told: dict[str, Any]) -> None:
    with serving(body({**PART, "warnings": None, **told})) as (endpoint, _):
        assert len(await now(endpoint)) == 1


async def test_nothing_found_is_an_empty_list_and_not_an_error() -> None:
    with serving(vector()) as (endpoint, _):
        assert await now(endpoint) == []


@pytest.mark.parametrize(
    "answer",
    [
        body("<html>login</html>"),
        body("null"),
        body("[]"),
        body({"status": "success"}),
        body({"data": {"result": "text"}}),
        body({"data": {"result": [{"metric": {}}]}}),
        body({"data": {"result": [{"metric": {}, "value": [1]}]}}),
        body({"data": {"result": [{"metric": {}, "value": [math.inf, "1"]}]}}),
        body(TOO_DEEP),
        body({"status": "error", "error": "parse error"}, 400),
        body({"status": "error", "error": "too busy"}, 503),
        body("x", 301),
        body(json.dumps({"data": {"result": []}}) + " " * 200_000),
    ],
    ids=[
        "a page",
        "null",
        "a list",
        "no data",
        "a text",
        "no value",
        "half a value",
        "at no time",
        "too deep",
        "refused",
        "busy",
        "moved",
        "too large",
    ],
)
async def test_a_strange_answer_is_metrics_unavailable_and_names_the_server(answer: Answer) -> None:
    with serving(answer) as (endpoint, _), pytest.raises(MetricsUnavailable) as caught:
        await now(endpoint)
    assert "Prometheus" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def _silent(_: BaseHTTPRequestHandler) -> None:
    time.sleep(0.8)


def _dripping(handler: BaseHTTPRequestHandler) -> None:
    """Byte after byte, each within the time that a socket may wait."""
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(30):
            handler.wfile.write(b" " * 20_000)
            time.sleep(0.1)
    except OSError:
        return


@pytest.mark.parametrize("answer", [_silent, _dripping])
async def test_a_slow_server_is_given_up(answer: Answer) -> None:
    with serving(answer) as (endpoint, _), pytest.raises(MetricsUnavailable):
        await now(replace(endpoint, largest=10**9))


def _byte_after_byte(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    try:
        for _ in range(30):
            handler.wfile.write(b" ")
            time.sleep(0.1)
    except OSError:
        return


async def test_a_body_that_drips_holds_a_thread_until_the_deadline_and_no_longer() -> None:
    """Else it would be given up while its thread goes on, and the next question waits for that."""
    with (
        serving(_byte_after_byte) as (endpoint, _),
        pytest.raises(MetricsUnavailable, match="did not end in time"),
    ):
        await now(endpoint)


def _compressed(handler: BaseHTTPRequestHandler) -> None:
    text = gzip.compress(json.dumps(PART | {"warnings": []}).encode())
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.send_header("Content-Length", str(len(text)))
    handler.end_headers()
    handler.wfile.write(text)


def _in_pieces(handler: BaseHTTPRequestHandler) -> None:
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for piece in (*json.dumps(PART | {"warnings": []}).split(" "), ""):
        text = f"{piece} ".encode() if piece else b""
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))


@pytest.mark.parametrize("answer", [_compressed, _in_pieces])
async def test_a_body_is_read_whole_however_it_is_sent(answer: Answer) -> None:
    with serving(answer) as (endpoint, _):
        assert [value for _, value in (await now(endpoint))[0].samples] == [7]


def _cut_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(json.dumps(PART | {"warnings": []}).encode())


async def test_a_body_that_ends_too_soon_is_metrics_unavailable() -> None:
    with serving(_cut_off) as (endpoint, _), pytest.raises(MetricsUnavailable, match="Prometheus"):
        await now(endpoint)


async def test_nobody_there_is_metrics_unavailable() -> None:
    with serving(vector()) as (endpoint, _):
        pass
    with pytest.raises(MetricsUnavailable, match=r"Prometheus at http://127\.0\.0\.1"):
        await now(endpoint)


async def test_a_renewed_token_and_tenant_headers_are_sent(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with serving(vector()) as (endpoint, asked):
        ours = replace(endpoint, login=tmp_path, headers=(("X-Scope-OrgID", "shop"),))
        async with PrometheusServer(ours) as server:
            for text in ("first\n", "second\n"):
                token.write_text(text)
                await server.now("up")
    assert [one.headers["Authorization"] for one in asked] == ["Bearer first", "Bearer second"]
    assert asked[0].headers["X-Scope-OrgID"] == "shop"


async def test_a_login_is_sent(tmp_path: Path) -> None:
    (tmp_path / "username").write_text("ali\n")
    (tmp_path / "password").write_text("open sesame\n")
    with serving(vector()) as (endpoint, asked):
        await now(replace(endpoint, login=tmp_path))
    assert asked[0].headers["Authorization"] == "Basic YWxpOm9wZW4gc2VzYW1l"


async def test_a_password_in_the_address_is_sent_and_not_told() -> None:
    with serving(body("busy", 503)) as (endpoint, asked):
        host = endpoint.url.removeprefix("http://")
        ours = replace(endpoint, url=f"http://ali:sesame@{host}/prometheus")
        with pytest.raises(MetricsUnavailable) as caught:
            await now(ours)
    assert asked[0].path == "/prometheus/api/v1/query"
    assert asked[0].headers["Authorization"] == "Basic YWxpOnNlc2FtZQ=="
    assert str(caught.value).startswith(f"Prometheus at http://{host}/prometheus: ")
    assert "sesame" not in str(caught.value)


async def test_an_empty_login_is_metrics_unavailable(tmp_path: Path) -> None:
    with (
        serving(vector()) as (endpoint, asked),
        pytest.raises(MetricsUnavailable, match="username"),
    ):
        await now(replace(endpoint, login=tmp_path))
    assert asked == []
