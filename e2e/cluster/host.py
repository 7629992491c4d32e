"""Running the host's commands, and waiting for what they started."""

import platform
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from e2e.cluster.errors import ClusterError

SHOWN_OUTPUT = 2000
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def architecture() -> str:
    """Name this machine's architecture as Go and images do."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def run(
    command: Sequence[str | Path],
    *,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> str:
    """Run a command to its end and return its output; a failure tells what it printed."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            input=text,
            env=environment,
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise ClusterError(
            f"{words[0]} was not found: install it, or put it on the PATH."
        ) from error
    if done.returncode != 0:
        printed = (done.stderr or done.stdout).strip()[-SHOWN_OUTPUT:]
        raise ClusterError(f"`{shlex.join(words)}` ended with {done.returncode}: {printed}")
    return done.stdout


def succeeds(command: Sequence[str | Path]) -> bool:
    """Tell whether a command is there and ends with 0."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def wait_until(
    holds: Callable[[], bool],
    what: str,
    *,
    seconds: float = 60,
    interval: float = 0.05,
    explain: Callable[[], str] = lambda: "",
) -> None:
    """Wait until a condition holds; after the deadline say what was waited for and why it failed."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise ClusterError(f"Waited {seconds:.0f} s in vain: {what}. {explain()}".rstrip())
        time.sleep(interval)
