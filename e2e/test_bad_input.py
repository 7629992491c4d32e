"""Everything that is wrong in `bad_input` is refused, where it must be and with the words that help.

What the API server can see never gets in; what only the operator can see gets the condition SpecValid=False, and
no driver.
"""

from collections.abc import Iterator

import pytest

from e2e.bad_input import GOOD, GOOD_PROFILE, PROFILE_ROWS, ROWS, Refusal, Row, merged
from e2e.support.api import Cluster, Json, condition, to_yaml, wait_for

_BY_SERVER = [row for row in (*ROWS, *PROFILE_ROWS) if row.refusal is not Refusal.OPERATOR]
_BY_OPERATOR = [row for row in ROWS if row.refusal is Refusal.OPERATOR]


def named(row: Row) -> Json:
    """The wrong object under a name of its own."""
    return merged(row.body, {"metadata": {"name": f"wrong-{ROWS.index(row)}"}})


@pytest.mark.parametrize("good", [GOOD, GOOD_PROFILE], ids=lambda good: good["kind"])
def test_the_api_server_takes_what_the_rows_start_from(
    cluster: Cluster, namespace: str, definitions: None, good: Json
) -> None:
    words = ("create", "--dry-run=server", "-n", namespace, "-f", "-")
    assert "created" in cluster.kubectl(*words, text=to_yaml(good))


@pytest.mark.parametrize("row", _BY_SERVER, ids=lambda row: row.rule)
def test_the_api_server_refuses_it(
    cluster: Cluster, namespace: str, definitions: None, row: Row
) -> None:
    words = ("create", "-n", namespace, "-f", "-")
    done = cluster.kubectl_process(*words, text=to_yaml(row.body))
    assert done.returncode != 0, f"accepted: {done.stdout}"
    for part in row.says:
        assert part in done.stdout


@pytest.fixture(scope="module")
def accepted(cluster: Cluster, namespace: str, operator: str) -> Iterator[None]:
    """All objects that only the operator can refuse, created together."""
    cluster.apply(to_yaml(*(named(row) for row in _BY_OPERATOR)), namespace)
    yield
    for row in _BY_OPERATOR:
        cluster.delete("StreamJob", namespace, named(row)["metadata"]["name"])


@pytest.mark.parametrize("row", _BY_OPERATOR, ids=lambda row: row.rule)
def test_the_operator_says_what_is_wrong(
    cluster: Cluster, namespace: str, accepted: None, row: Row
) -> None:
    name = named(row)["metadata"]["name"]

    def told() -> Json:
        return condition(cluster.get("StreamJob", namespace, name) or {}, "SpecValid")

    refusal = wait_for(f"condition SpecValid of {name}", told, seconds=60)
    assert (refusal["status"], refusal["reason"]) == ("False", "InvalidSpec")
    for part in row.says:
        assert part in refusal["message"]
    assert cluster.get("Pod", namespace, f"{name}-driver") is None
