"""Rules of commands that must not run side by side."""

import queue
import threading
from pathlib import Path

import pytest

from e2e.cluster import lock
from e2e.cluster.progress import Progress


class Recorder(Progress):
    """Keep what is said, for another thread to wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.said: queue.Queue[str] = queue.Queue()

    def say(self, message: str) -> None:
        self.said.put(message)


def test_a_second_caller_waits_and_says_for_what(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    order: list[str] = []
    recorder = Recorder()

    def second() -> None:
        with lock.exclusive(path, "down", recorder):
            order.append("second")

    other = threading.Thread(target=second)
    with lock.exclusive(path, "up", Progress()):
        other.start()
        said = recorder.said.get()
        # A lock that does not hold would let the other end here.
        other.join(timeout=0.2)
        order.append("first")
    other.join()

    assert said.startswith("Waiting for `up` of process")
    assert order == ["first", "second"]


def test_a_lock_is_free_after_a_failure(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="broken"),
        lock.exclusive(tmp_path / "lock", "up", Progress()),
    ):
        raise ValueError("broken")

    with lock.exclusive(tmp_path / "lock", "up", Progress()):
        pass
