"""Run promtool: the one that is built from the pinned module, else the one on the PATH."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.cluster import build, layout
from tests.docs.pages import ROOT


def promtool(*arguments: str | Path) -> None:
    """Run it in the repository; fail with what it says, or skip the test where there is none."""
    paths = layout.paths_from(os.environ, is_root=os.geteuid() == 0)
    built = build.directory(paths, build.PROMTOOL) / "promtool"
    program = str(built) if built.exists() else shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is missing; `python3 -m e2e.cluster build promtool` builds it")
    command = [program, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
