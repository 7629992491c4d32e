"""Rules of commands that must not run side by side."""

import threading
from pathlib import Path

import pytest

from e2e.cluster import lock
from e2e.cluster.progress import Progress


def test_a_second_caller_waits_and_says_for_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lock"
    order: list[str] = []

    def second() -> None:
        with lock.exclusive(path, "down", Progress()):
            order.append("second")

    with lock.exclusive(path, "up", Progress()):
        other = threading.Thread(target=second)
        other.start()
        said = ""
        while "Waiting" not in said:
            said += capsys.readouterr().err
        order.append("first")
    other.join()

    assert order == ["first", "second"]
    assert "Waiting for `up` of process" in said


def test_a_lock_is_free_after_a_failure(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="broken"),
        lock.exclusive(tmp_path / "lock", "up", Progress()),
    ):
        raise ValueError("broken")

    with lock.exclusive(tmp_path / "lock", "up", Progress()):
        pass
