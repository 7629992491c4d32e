"""A job's clock can be set while it runs, and what it times is not stretched by that."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.faults import clock

PROGRAM = """
import json, sys, time
for line in sys.stdin:
    before = time.monotonic()
    time.sleep(0.01)
    print(json.dumps([time.time(), time.monotonic() - before]), flush=True)
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="it needs a C compiler")
def test_a_running_program_sees_the_clock_set_and_set_right_again(tmp_path: Path) -> None:
    environment = {one["name"]: one["value"] for one in clock.settable(tmp_path, str(tmp_path))}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **environment},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        right = told_by(program)
        with clock.set_by(tmp_path, 3600):
            forward = told_by(program)
        with clock.set_by(tmp_path, -3600):
            back = told_by(program)
        again = told_by(program)
        program.communicate()

    assert [offset for offset, _ in (right, forward, back, again)] == [0, 60, -60, 0]
    assert all(0 < slept < 3000 for _, slept in (right, forward, back, again))


def told_by(program: "subprocess.Popen[str]") -> tuple[int, float]:
    """By how many minutes the program's clock is wrong, and for how many seconds it slept."""
    assert program.stdin
    assert program.stdout
    program.stdin.write("now\n")
    program.stdin.flush()
    now, slept = json.loads(program.stdout.readline())
    return round((now - time.time()) / 60), slept
