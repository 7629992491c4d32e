"""Programs of the host, and the local cluster's own commands, which must succeed."""

import subprocess
import sys


def run(*words: str) -> str:
    """What a program prints, errors included."""
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}"
    return done.stdout


def cluster(*words: str) -> str:
    """What a command of the local cluster prints."""
    return run(sys.executable, "-m", "e2e.cluster", *words)
