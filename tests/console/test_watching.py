"""`sluice top` on a terminal: in place, on and on, also while the cluster is away."""

import io
from collections.abc import Callable
from datetime import timedelta

import pytest
from rich.console import Console

from sluice.adapters.clock import SystemClock
from sluice.console import watching
from sluice.console.cluster import connect
from sluice.console.gathering import Reader
from sluice.console.trouble import Exit
from sluice.ports import STREAM_JOBS
from tests.console import resources
from tests.console.serving import FakeCluster, refusal

IN_PLACE = "\x1b[?1049h"
BACK = "\x1b[?1049l"


@pytest.fixture
def screen() -> Console:
    """A terminal that keeps what it is sent."""
    return Console(
        file=io.StringIO(), force_terminal=True, width=100, height=20, _environ={"TERM": "xterm"}
    )


def look(
    cluster: FakeCluster,
    screen: Console,
    monkeypatch: pytest.MonkeyPatch,
    *pauses: Callable[[], None],
) -> str:
    """Watch; something happens in each pause, and after the last one the person presses Ctrl-C."""
    coming = iter(pauses)

    def sleep(_: float) -> None:
        happening = next(coming, None)
        if happening is None:
            raise KeyboardInterrupt
        happening()

    monkeypatch.setattr(watching, "sleep", sleep)
    with connect(kubeconfig=str(cluster.kubeconfig), context=None) as reading:
        reader = Reader(reading, "shop")
        code = watching.watch(reader, "shop", timedelta(seconds=5), screen, SystemClock())
    assert code == Exit.FINE
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def test_the_table_is_drawn_in_place_and_the_screen_given_back(
    cluster: FakeCluster, screen: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.installs()
    cluster.stores(resources.healthy())
    shown = look(cluster, screen, monkeypatch)
    assert IN_PLACE in shown
    assert "clicks" in shown
    assert BACK in shown.partition("clicks")[2]


def test_each_look_shows_what_is_new(
    cluster: FakeCluster, screen: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.installs()
    cluster.stores(resources.healthy())

    def another_job() -> None:
        cluster.stores(resources.failing("views"))

    before, _, after = look(cluster, screen, monkeypatch, another_job).partition("views")
    assert "clicks" in before
    assert "clicks" in after


def test_while_the_cluster_is_away_the_last_table_stays(
    cluster: FakeCluster, screen: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.installs()
    cluster.stores(resources.healthy())
    path = f"{STREAM_JOBS.root}/namespaces/shop/streamjobs"

    def goes() -> None:
        cluster.answers[path] = refusal(503, "etcd is away")

    def comes_back() -> None:
        del cluster.answers[path]

    shown = look(cluster, screen, monkeypatch, goes, comes_back)
    _, _, away = shown.partition("etcd is away")
    assert shown.count("etcd is away") == 1
    assert shown.count("clicks") == 3
    assert "clicks" in away
