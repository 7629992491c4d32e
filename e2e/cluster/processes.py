"""Which processes are ours: a PID alone is reused, so its start and the boot are kept with it."""

import json
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.cluster.host import wait_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of one boot of the host."""

    pid: int
    started: int
    """Clock ticks between the boot and the start of the process."""
    boot: str

    @property
    def is_alive(self) -> bool:
        return identify(self.pid) == self

    def kill(self) -> None:
        """End the process at once and wait until it is gone."""
        if self.is_alive:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, what: str) -> None:
        wait_until(lambda: not self.is_alive, f"{what} (process {self.pid}) should end", seconds=30)


def identify(pid: int) -> Process | None:
    """Return the living process of this number, if there is one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, threads, started = parse_stat(stat)
    # A zombie runs no more; it only waits for its parent to notice. While threads of it are left, they still hold
    # its ports: of a large process that was killed, for a while.
    has_ended = state in "ZX" and threads <= 1
    return None if has_ended else Process(pid=pid, started=started, boot=boot)


def parse_stat(stat: str) -> tuple[str, int, int]:
    """Return the state, the number of threads and the start time; the name before them may itself hold brackets."""
    fields = stat.rpartition(")")[2].split()
    return fields[0], int(fields[17]), int(fields[19])


def only_child(pid: int) -> int | None:
    """Return the child of a process that has one, such as `unshare --fork`."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(children[0]) if children else None


def save(process: Process, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(process)))


def load(path: Path) -> Process | None:
    """Return the process that was saved here, if it is still alive."""
    if not path.exists():
        return None
    process = Process(**json.loads(path.read_text()))
    return process if process.is_alive else None
