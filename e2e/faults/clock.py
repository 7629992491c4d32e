"""A clock for all processes of a job that can be set: no namespace has one, so a library stands before the kernel."""

import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.cluster import requirements
from e2e.cluster.progress import Progress
from e2e.faults import commands
from e2e.support.api import Json

_SOURCE = Path(__file__).with_suffix(".c")
_LIBRARY, _OFFSET = "clock.so", "clock"


def settable(disk: Path, mount: str) -> list[Json]:
    """Put the library on the disk of a job, which mounts it there; the environment that makes processes use it."""
    if not shutil.which("cc"):
        requirements.install(["gcc", "libc6-dev"], Progress())
    library = disk / _LIBRARY
    commands.run("cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", str(library), str(_SOURCE), "-ldl")
    (disk / _OFFSET).write_bytes(_told(0))
    environment = {"LD_PRELOAD": f"{mount}/{_LIBRARY}", "CLOCK_OFFSET": f"{mount}/{_OFFSET}"}
    return [{"name": name, "value": value} for name, value in environment.items()]


@contextmanager
def set_by(disk: Path, seconds: int) -> Iterator[None]:
    """The clock of the job's processes, also of those that run, is wrong by so many seconds for a while."""
    _set(disk, seconds)
    try:
        yield
    finally:
        _set(disk, 0)


def _set(disk: Path, seconds: int) -> None:
    # In place: the processes have mapped this file.
    with (disk / _OFFSET).open("r+b") as file:
        file.write(_told(seconds))


def _told(seconds: int) -> bytes:
    return struct.pack("l", seconds)
