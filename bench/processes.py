"""Processor time and memory of processes, from /proc: those of a pod, or those of a program.

The host sees all processes of the local cluster, whatever namespaces they are in.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_HOLDERS = ("pause", "busybox")
"""What only holds a pod's namespaces: in most clusters, and in the local one."""


class Processes:
    """A fixed set of processes; one that has ended counts nothing."""

    def __init__(self, ids: tuple[int, ...]) -> None:
        self.ids = ids

    def cpu_seconds(self) -> float:
        """Processor seconds so far, in user and kernel mode."""
        return sum(_cpu_seconds(_text(one, "stat")) for one in self.ids)

    def resident_bytes(self) -> int:
        """Memory that is resident now."""
        return sum(_kibibytes(_text(one, "status"), "VmRSS") for one in self.ids) * 1024

    def peak_bytes(self) -> int:
        """The most memory that was resident since the start or the last `forget_peak`."""
        return sum(_kibibytes(_text(one, "status"), "VmHWM") for one in self.ids) * 1024

    @property
    def ended(self) -> tuple[int, ...]:
        """Those that are gone, or wait to be buried."""
        return tuple(one for one in self.ids if not _text(one, "cmdline"))

    def kill(self) -> None:
        """End them at once; the first of a container takes the others with it."""
        for one in self.ids:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)

    def forget_peak(self) -> None:
        """Begin a new peak from what is resident now (see proc(5), clear_refs)."""
        for one in self.ids:
            (_PROC / str(one) / "clear_refs").write_text("5")


def of_pod(uid: str) -> Processes:
    """The processes of a pod, but the one that only holds its namespaces."""
    group = f"pod{uid}"
    return Processes(
        _ids(
            lambda one: (
                group in _text(one, "cgroup").replace("_", "-") and name_of(one) not in _HOLDERS
            )
        )
    )


def running(program: str) -> Processes:
    """The processes of a program, by the name of its file."""
    return Processes(_ids(lambda one: name_of(one) == program))


def _ids(is_wanted: Callable[[int], bool]) -> tuple[int, ...]:
    return tuple(one for one in _all() if is_wanted(one))


def _all() -> Iterator[int]:
    return (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def name_of(one: int) -> str:
    """The name of the file that a process runs, or "" if it has ended."""
    return Path(_text(one, "cmdline").partition("\0")[0]).name


def command_of(one: int) -> str:
    """The words of a process's command, with blanks between them, or "" if it has ended."""
    return _text(one, "cmdline").replace("\0", " ").strip()


def _text(one: int, name: str) -> str:
    try:
        return (_PROC / str(one) / name).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _cpu_seconds(stat: str) -> float:
    # The name in parentheses may hold blanks; utime and stime are fields 14 and 15.
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def _kibibytes(status: str, key: str) -> int:
    for line in status.splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    return 0
