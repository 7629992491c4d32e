"""Run promtool, of the version that is pinned: others count the slices at the edge of a window differently."""

import os
import subprocess
from pathlib import Path

import pytest

from e2e.cluster import build, layout
from tests.docs.pages import ROOT


def promtool(*arguments: str | Path) -> None:
    """Run it in the repository; fail with what it says, or skip the test where there is none."""
    paths = layout.paths_from(os.environ, is_root=os.geteuid() == 0)
    program = build.directory(paths, build.PROMTOOL) / "promtool"
    if not program.exists():
        pytest.skip("promtool is missing; `python3 -m e2e.cluster build promtool` builds it")
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
