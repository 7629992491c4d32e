"""Rules of reading what the cluster answers."""

from datetime import UTC, datetime
from typing import Any

import pytest

from e2e.cluster import api


def node(status: str) -> dict[str, Any]:
    ready = {"type": "Ready", "status": status, "lastHeartbeatTime": "2025-03-01T10:00:00Z"}
    conditions = [{"type": "MemoryPressure", "status": "False"}, ready]
    return {"metadata": {"name": "node-1"}, "status": {"conditions": conditions}}


def test_a_node_that_says_ready_is_ready() -> None:
    heartbeat = api.parse_node(node("True"))

    assert heartbeat == api.Heartbeat(
        name="node-1", is_ready=True, at=datetime(2025, 3, 1, 10, tzinfo=UTC)
    )


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_node_that_is_not_known_to_be_ready_is_not(status: str) -> None:
    heartbeat = api.parse_node(node(status))

    assert heartbeat is not None
    assert not heartbeat.is_ready


def test_a_node_that_was_only_just_registered_has_said_nothing() -> None:
    assert api.parse_node({"metadata": {"name": "node-1"}, "status": {}}) is None


def test_a_dns_question_encodes_each_label_with_its_length() -> None:
    query = api.dns_query("kubernetes.default")

    assert query[12:] == b"\x0akubernetes\x07default\x00\x00\x01\x00\x01"


def test_the_answers_of_a_dns_response_are_counted() -> None:
    header = bytes([0, 1, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0])

    assert api.dns_answers(header) == 2
