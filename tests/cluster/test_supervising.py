"""Rules of when a program must be started anew."""

from dataclasses import replace
from pathlib import Path

from e2e.cluster.supervising import Program

PROGRAM = Program(name="dns", command=("dns", "-v"), files={Path("/zone"): "a"})


def test_a_changed_file_asks_for_a_restart() -> None:
    assert replace(PROGRAM, files={Path("/zone"): "b"}).fingerprint != PROGRAM.fingerprint


def test_a_changed_flag_asks_for_a_restart() -> None:
    assert replace(PROGRAM, command=("dns",)).fingerprint != PROGRAM.fingerprint


def test_the_same_command_and_files_need_no_restart() -> None:
    assert replace(PROGRAM, files=dict(PROGRAM.files)).fingerprint == PROGRAM.fingerprint
