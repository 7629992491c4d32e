"""Rules of the commands by which all begins, with a Python that only notes what it is asked."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_OLD = """#!/bin/sh
echo "$*" >> "$0.notes"
case "$1" in -c) echo "Python 3.11 or newer is needed" >&2; exit 1 ;; esac
"""


@pytest.mark.parametrize(
    "target", ["cluster", "cluster-down", "images", "programs", "demo", "demo-down", "install"]
)
def test_nothing_is_begun_with_a_python_that_is_too_old(target: str, tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(_OLD)
    python.chmod(0o755)

    done = subprocess.run(
        ["make", target, f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "3.11 or newer" in done.stderr
    (asked,) = (tmp_path / "python3.notes").read_text().splitlines()
    assert asked.startswith("-c import sys")
