"""Programs of a machine: starting them with their files, telling whether they live, ending them."""

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster import machines, processes
from e2e.cluster.layout import Machine, Paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A server of a machine: its command, and the files that it reads when it starts."""

    name: str
    command: tuple[str, ...]
    files: Mapping[Path, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Change with whatever makes a restart necessary."""
        files = {str(path): text for path, text in self.files.items()}
        return hashlib.sha256(json.dumps([self.command, files]).encode()).hexdigest()


def ensure(paths: Paths, machine: Machine, program: Program) -> bool:
    """Start a program that does not run, or runs with other files. Return whether it was started."""
    fingerprint = _fingerprint(paths, machine, program.name)
    if is_running(paths, machine, program.name):
        if fingerprint.exists() and fingerprint.read_text() == program.fingerprint:
            return False
        kill(paths, machine, program.name)
    for path, text in program.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    _start(paths, machine, program)
    fingerprint.write_text(program.fingerprint)
    return True


def _start(paths: Paths, machine: Machine, program: Program) -> None:
    log = paths.log(machine, program.name)
    with log.open("a") as output:
        parent = subprocess.Popen(
            machines.joined(machine, machines.inside(paths, machine, list(program.command))),
            env={**os.environ, "TMPDIR": "/tmp"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    process = machines.await_child(parent, f"{program.name} of {machine.name}", log)
    processes.save(process, _record(paths, machine, program.name))


def is_running(paths: Paths, machine: Machine, name: str) -> bool:
    return processes.load(_record(paths, machine, name)) is not None


def started_at(paths: Paths, machine: Machine, name: str) -> float:
    """Return the wall clock's time of the program's last start."""
    return _record(paths, machine, name).stat().st_mtime


def kill(paths: Paths, machine: Machine, name: str) -> None:
    """End a program as a crash would."""
    record = _record(paths, machine, name)
    process = processes.load(record)
    if process:
        process.kill()
        process.wait(f"{name} of {machine.name}")
    record.unlink(missing_ok=True)


def names(paths: Paths, machine: Machine) -> list[str]:
    """Return the programs that were started in a machine and not stopped since, dead or alive."""
    return sorted(record.stem for record in _directory(paths, machine).glob("*.json"))


def failures(paths: Paths, machine: Machine) -> str:
    """Tell which programs of a machine have ended by themselves, with the ends of their logs."""
    dead = [name for name in names(paths, machine) if not is_running(paths, machine, name)]
    logs = [paths.log(machine, name) for name in dead]
    return "\n".join(f"{log} ends: {machines.tail(log)}" for log in logs)


def _directory(paths: Paths, machine: Machine) -> Path:
    return paths.machine(machine) / "programs"


def _record(paths: Paths, machine: Machine, name: str) -> Path:
    return _directory(paths, machine) / f"{name}.json"


def _fingerprint(paths: Paths, machine: Machine, name: str) -> Path:
    return _directory(paths, machine) / f"{name}.fingerprint"
