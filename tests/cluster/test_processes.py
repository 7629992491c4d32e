"""Rules of recognising our processes."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from e2e.cluster import processes
from e2e.cluster.host import wait_until
from e2e.cluster.processes import Process


def own_process() -> Process:
    found = processes.identify(os.getpid())
    assert found is not None
    return found


def test_a_process_whose_number_was_reused_is_not_ours(tmp_path: Path) -> None:
    reused = replace(own_process(), started=own_process().started - 1)
    processes.save(reused, tmp_path / "record")

    assert processes.load(tmp_path / "record") is None


def test_a_process_of_an_earlier_boot_is_not_ours(tmp_path: Path) -> None:
    processes.save(replace(own_process(), boot="earlier"), tmp_path / "record")

    assert processes.load(tmp_path / "record") is None


def test_a_living_process_is_found_by_its_record(tmp_path: Path) -> None:
    processes.save(own_process(), tmp_path / "record")

    assert processes.load(tmp_path / "record") == own_process()


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert processes.identify(child.pid) is None
    child.wait()


def test_a_process_whose_first_thread_has_ended_lives_while_others_run() -> None:
    program = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start();"
        "print(flush=True); ctypes.CDLL(None).pthread_exit(0)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        wait_until(lambda: _state(child.pid) == "Z", "the first thread to end", seconds=10)
        assert processes.identify(child.pid) is not None
        child.kill()
        child.wait()


def _state(pid: int) -> str:
    return processes.parse_stat(Path(f"/proc/{pid}/stat").read_text())[0]


def test_a_name_with_brackets_and_spaces_does_not_hide_the_start_time() -> None:
    after = ["S", *["0"] * 16, "3", "0", "4711", "0"]

    assert processes.parse_stat(f"12 (a) b) {' '.join(after)}") == ("S", 3, 4711)


def test_a_killed_process_is_gone_after_the_wait() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = processes.identify(child.pid)
        assert process is not None
        process.kill()
        process.wait("sleep")

        assert not process.is_alive
