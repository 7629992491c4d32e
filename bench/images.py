"""Images of the present sources in the local cluster: what was loaded last may be of another checkout."""

import subprocess
import sys

from bench.api import ROOT
from bench.progress import BenchmarkFailed


def load(*names: str) -> None:
    """Build what has changed, and load it; all images if none is named. Raises BenchmarkFailed."""
    done = subprocess.run(
        [sys.executable, "-m", "e2e.images", *names], cwd=ROOT, text=True, capture_output=True
    )
    if done.returncode:
        raise BenchmarkFailed(
            f"cannot build and load {', '.join(names) or 'all images'}: {done.stdout}{done.stderr}"
        )
