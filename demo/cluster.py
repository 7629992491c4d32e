"""The local cluster's kubectl and helm, as commands that either answer or say what failed."""

import json
import subprocess
import sys
from typing import Any

from demo.names import NAMESPACE, ROOT

Json = dict[str, Any]

ANSWER_SECONDS = 180.0
"""More than any single command takes on a busy machine; without it a dead API server would hang the demo."""


class DemoFailed(Exception):
    """A step cannot be done; `remedy` says what a person can do about it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def kubectl(*words: str, text: str | None = None) -> str:
    """Run kubectl and give its output; `text` is its standard input."""
    return _run("kubectl", words, text)


def helm(*words: str) -> str:
    """Run helm and give its output."""
    return _run("helm", words, None)


def read(kind: str, name: str, namespace: str = NAMESPACE) -> Json:
    """Read an object; empty if there is none."""
    output = kubectl("get", kind, name, "-n", namespace, "--ignore-not-found", "-o", "json")
    found: Json = json.loads(output) if output.strip() else {}
    return found


def attempt(*words: str) -> str:
    """Run kubectl for what it may find; what is not there is an empty text."""
    try:
        return kubectl(*words)
    except DemoFailed:
        return ""


def _run(program: str, words: tuple[str, ...], text: str | None) -> str:
    command = [sys.executable, "-m", "e2e.cluster", program, *words]
    shown = f"{program} {' '.join(words)}"
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            # Never the terminal's: the demo also runs where there is none.
            input=text or "",
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DemoFailed(
            f"`{shown}` has not answered for {ANSWER_SECONDS:.0f} s",
            "look at the cluster with `python3 -m e2e.cluster status`; `make cluster` mends it",
        ) from None
    if done.returncode:
        raise DemoFailed(
            f"`{shown}` failed: {done.stderr.strip() or done.stdout.strip()}",
            "`make cluster` brings the cluster up and mends it; then run `make demo` again",
        )
    return done.stdout
