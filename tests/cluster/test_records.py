"""Rules of what a cluster remembers of how it was made."""

from pathlib import Path

import pytest

from e2e.cluster import layout, records
from e2e.cluster.errors import ClusterError
from e2e.cluster.records import Record


@pytest.fixture
def paths(tmp_path: Path) -> layout.Paths:
    return layout.Paths(state=tmp_path / "state", cache=tmp_path / "cache")


def test_a_record_is_read_as_it_was_written(paths: layout.Paths) -> None:
    record = Record(provider=records.NAMESPACES, nodes=2, kube="/bin/kube", metrics_server="/bin/m")
    records.save(paths, record)

    assert records.load(paths) == record


@pytest.mark.parametrize("text", ["", "[]", '{"unknown": 1}'])
def test_an_unreadable_record_is_of_no_known_version(paths: layout.Paths, text: str) -> None:
    paths.state.mkdir()
    paths.record.write_text(text)

    record = records.load(paths)

    assert record is not None
    assert record.version != layout.VERSION


def test_without_a_cluster_the_message_says_how_to_get_one(paths: layout.Paths) -> None:
    with pytest.raises(ClusterError, match=r"e2e\.cluster up"):
        records.require(paths)


@pytest.mark.parametrize(
    ("present", "asked", "wanted"),
    [(0, None, 2), (0, 1, 1), (0, 3, 3), (2, None, 2), (2, 3, 3), (2, 1, 2)],
)
def test_a_cluster_has_two_nodes_by_default_and_only_grows(
    present: int, asked: int | None, wanted: int
) -> None:
    assert records.wanted_nodes(present, asked) == wanted
