"""Runs long commands so that a person sees that they live, and what they said when they fail."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path


class CommandFailed(Exception):
    """A command of a build failed; the message has its last words."""


class Progress:
    """Prints lines with the time since the start of the whole run."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self._start:6.1f} s] {text}", flush=True)

    def run(self, title: str, command: Sequence[str], log: Path) -> None:
        """Run the command to its end, with a line for each of its steps and one every 15 seconds."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            try:
                self._follow(process, title, log)
            finally:
                process.kill()
        if process.returncode:
            raise CommandFailed(_last_words(title, command, process.returncode, log))

    def _follow(self, process: "subprocess.Popen[bytes]", title: str, log: Path) -> None:
        shown, shown_at = "", time.monotonic()
        while True:
            try:
                process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                step = _last_step(log)
                if step != shown or time.monotonic() - shown_at >= 15:
                    self.say(f"{title}: {step or 'working'}")
                    shown, shown_at = step, time.monotonic()
            else:
                return


def _last_step(log: Path) -> str:
    """Find what the command does now: buildah says STEP, BuildKit numbers its lines, others do not say."""
    steps = [line.strip() for line in _lines(log) if "STEP" in line or line.startswith("#")]
    return steps[-1][:100] if steps else ""


def _last_words(title: str, command: Sequence[str], status: int, log: Path) -> str:
    tail = "\n".join(f"    {line}" for line in _lines(log)[-20:])
    return f"{title}: `{' '.join(command[:2])} ...` ended with status {status}. Its last lines, of {log}:\n{tail}"


def _lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()
