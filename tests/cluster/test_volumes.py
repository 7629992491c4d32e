"""Rules of opening volumes to pods that do not run as root."""

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster import volumes
from e2e.cluster.host import wait_until


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def make_volume(directory: Path, bits: int) -> Path:
    volume = directory / "volume"
    # At once, as the provisioner does: the watcher may look before a chmod that follows.
    volume.mkdir(mode=bits)
    return volume


def test_a_volume_as_the_provisioner_makes_it_is_opened(tmp_path: Path) -> None:
    volume = make_volume(tmp_path, 0o750)

    volumes.open_volumes(tmp_path)

    assert mode(volume) == 0o777


def test_a_volume_that_its_user_has_closed_stays_closed(tmp_path: Path) -> None:
    volume = make_volume(tmp_path, 0o700)

    volumes.open_volumes(tmp_path)

    assert mode(volume) == 0o700


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Path]:
    ready = make_volume(tmp_path, 0o750)
    script = volumes.__file__
    with subprocess.Popen([sys.executable, str(script), str(tmp_path)]) as watcher:
        wait_until(lambda: mode(ready) == 0o777, "the watcher should start")
        ready.rmdir()
        yield tmp_path
        watcher.kill()


def test_a_volume_is_opened_as_soon_as_it_is_made(watched: Path) -> None:
    volume = make_volume(watched, 0o750)

    wait_until(lambda: mode(volume) == 0o777, "the volume should be opened")
