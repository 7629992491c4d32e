"""One driver at a time writes a checkpoint: a driver without its Lease does not begin, and does not go on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sluice.agent import processes
from tests.agent.leasing import LeaseServer, lease_server
from tests.support.ports import free_port

SECONDS = 3
"""What the Lease of these tests lasts."""

TICKING = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path("child").write_text(str(child.pid))
for tick in range(int(sys.argv[1])):
    pathlib.Path("ticks").write_text(str(tick))
    time.sleep(0.05)
child.kill()
"""


@pytest.fixture
def leases(tmp_path: Path) -> Iterator[LeaseServer]:
    with lease_server(tmp_path, seconds=SECONDS) as server:
        yield server


class Driver:
    """A program under the agent, with a child that stands for the JVM."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self.process = process
        self._folder = folder

    def has_begun(self) -> bool:
        return (self._folder / "ticks").exists()

    def last_word(self) -> str:
        return (self._folder / "word").read_text()

    def child_lives(self) -> bool:
        return _lives(int((self._folder / "child").read_text()))

    def keeper(self) -> int:
        """The process that holds the Lease."""
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                command = Path(f"/proc/{name}/cmdline").read_bytes()
                variables = Path(f"/proc/{name}/environ").read_bytes()
            except OSError:
                continue
            if b"--keep-lease" in command and str(self._folder).encode() in variables:
                return int(name)
        raise AssertionError("nobody holds the Lease")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """The program and who holds its Lease do nothing for the length of a block."""
        family = (self.process.pid, self.keeper())
        for process in family:
            os.kill(process, signal.SIGSTOP)
        yield
        for process in family:
            os.kill(process, signal.SIGCONT)

    def wait_until_begun(self) -> None:
        _wait("the program's first tick", self.has_begun)


@contextmanager
def driver(
    pyz: Path,
    folder: Path,
    leases: LeaseServer,
    *,
    incarnation: int = 1,
    program: str = TICKING,
    ticks: int = 10_000,
) -> Iterator[Driver]:
    home = folder / f"driver-{incarnation}"
    home.mkdir()
    (home / "main.py").write_text(program)
    process = subprocess.Popen(
        [sys.executable, str(pyz), "main.py", str(ticks)],
        cwd=home,
        env={
            **os.environ,
            **leases.environment(incarnation),
            "SLUICE_AGENT_PORT": str(free_port()),
            "SLUICE_TERMINATION_LOG": str(home / "word"),
        },
        text=True,
        start_new_session=True,
    )
    try:
        yield Driver(process, home)
    finally:
        processes.kill_family(process.pid)
        process.wait()
        # A driver that has ended by itself has left its child behind.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _wait(what: str, holds: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not seen: {what}"
        time.sleep(0.02)


def _lives(process: int) -> bool:
    try:
        return b") Z" not in Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return False


def test_a_driver_holds_the_lease_while_it_runs_and_gives_it_back(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases, ticks=20) as running:
        running.wait_until_begun()
        assert leases.holder == "uid-7/1"
        assert running.process.wait(30) == 0
    assert leases.holder == ""


def test_a_driver_that_is_asked_to_stop_gives_the_lease_back(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        running.process.terminate()
        assert running.process.wait(30) == 143
    assert leases.holder == ""


def test_a_held_lease_is_waited_out_by_the_drivers_own_clock(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    leases.edit(holderIdentity="uid-other/9", renewTime="2099-01-01T00:00:00.000000Z")
    # Whoever comes after it has to wait for as long as it lives on, not as long as one before.
    leases.edit(leaseDurationSeconds=SECONDS + 1)
    with driver(pyz, tmp_path, leases) as running:
        for renewal in range(3):
            time.sleep(SECONDS / 2)
            assert not running.has_begun()
            leases.edit(renewTime=f"2099-01-01T00:00:0{renewal}.500000Z")
        running.wait_until_begun()
        assert leases.duration == SECONDS
    assert leases.holder == "uid-7/1"


def test_a_driver_that_was_given_up_never_begins(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    leases.edit(holderIdentity="uid-7/2")
    with driver(pyz, tmp_path, leases) as running:
        assert running.process.wait(30) == 97
        assert not running.has_begun()
        assert "uid-7/2 has the Lease of the checkpoint" in running.last_word()


def test_a_driver_that_cannot_renew_is_ended_with_all_that_it_started(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        leases.down = True
        assert running.process.wait(30) == -signal.SIGKILL
        _wait("the end of the child", lambda: not running.child_lives())
        _wait("its last word", lambda: "503" in running.last_word())


def test_an_outage_shorter_than_the_lease_is_survived(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        leases.down = True
        time.sleep(SECONDS / 2)
        leases.down = False
        written = leases.writes
        _wait("two more renewals", lambda: leases.writes > written + 1)
        assert running.process.poll() is None


def test_a_driver_that_stood_still_is_ended_when_it_wakes(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        with running.standing_still():
            time.sleep(SECONDS)
            leases.edit(holderIdentity="uid-7/2")
        assert running.process.wait(30) == -signal.SIGKILL
        _wait("the end of the child", lambda: not running.child_lives())
    assert leases.holder == "uid-7/2"


def test_a_driver_that_stood_still_is_ended_although_nobody_has_taken_its_lease(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        with running.standing_still():
            time.sleep(SECONDS)
        assert running.process.wait(30) == -signal.SIGKILL
        _wait("its last word", lambda: "everything stood still" in running.last_word())


def test_a_driver_whose_lease_was_taken_is_ended(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        leases.edit(holderIdentity="uid-7/2")
        assert running.process.wait(30) == -signal.SIGKILL
        _wait("its last word", lambda: "uid-7/2 holds it" in running.last_word())


def test_the_word_is_left_before_the_driver_goes(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        word = tmp_path / "driver-1" / "word"
        os.mkfifo(word)
        leases.edit(holderIdentity="uid-7/2")
        _wait("the end of the child", lambda: not running.child_lives())
        time.sleep(0.5)
        assert running.process.poll() is None  # for nobody has read the word
        assert "uid-7/2 holds it" in word.read_text()
        assert running.process.wait(30) == -signal.SIGKILL


def test_an_edit_that_leaves_the_holder_changes_nothing(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        leases.edit(strategy="by hand")
        written = leases.writes
        _wait("two more renewals", lambda: leases.writes > written + 1)
        assert running.process.poll() is None


def test_a_driver_whose_keeper_was_killed_is_ended(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases) as running:
        running.wait_until_begun()
        os.kill(running.keeper(), signal.SIGKILL)
        assert running.process.wait(30) == -signal.SIGKILL
        _wait("the end of the child", lambda: not running.child_lives())


BLOCKING = """
import ctypes, pathlib
pathlib.Path("ticks").write_text("0")
ctypes.PyDLL(None).sleep(6)  # in C, and without giving the interpreter away
"""


def test_a_program_that_blocks_the_interpreter_is_left_alone(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases, program=BLOCKING) as running:
        assert running.process.wait(30) == 0
    assert leases.holder == ""


FORKING = """
import os, pathlib, sys, time
pathlib.Path("ticks").write_text("0")
if os.fork() == 0:
    sys.exit(0)  # with the exit handlers that it inherited
print("reaped", os.wait()[1], flush=True)
pathlib.Path("forked").touch()
time.sleep(600)
"""


def test_a_child_that_the_program_forks_leaves_the_lease_alone(
    pyz: Path, tmp_path: Path, leases: LeaseServer
) -> None:
    with driver(pyz, tmp_path, leases, program=FORKING) as running:
        _wait("the forked child's end", lambda: (tmp_path / "driver-1" / "forked").exists())
        written = leases.writes
        _wait("one more renewal", lambda: leases.writes > written)
        assert leases.holder == "uid-7/1"
        assert running.process.poll() is None
