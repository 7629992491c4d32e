"""Run small programs as child processes, plainly and under the packed agent, and keep what they did."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.ports import free_port

TOKEN = "the job's token"
SECONDS_TO_END = 240


@dataclass(frozen=True)
class Outcome:
    """What a process wrote and how it ended; the agent's own log lines are kept apart."""

    stdout: str
    stderr: str
    exit_code: int


def plainly(arguments: Sequence[str], cwd: Path) -> Outcome:
    """Run `python3 ARGUMENTS...`."""
    return _finished([sys.executable, *arguments], cwd, {})


def under_agent(
    pyz: Path,
    arguments: Sequence[str],
    cwd: Path,
    options: Sequence[str] = (),
    **environment: str,
) -> Outcome:
    """Run `python3 OPTIONS... agent.pyz ARGUMENTS...`."""
    return _finished(
        [sys.executable, *options, str(pyz), *arguments],
        cwd,
        {"SLUICE_AGENT_PORT": str(free_port()), **environment},
    )


def _finished(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Outcome:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        input="typed\n",
        capture_output=True,
        text=True,
        timeout=SECONDS_TO_END,
        check=False,
    )
    return Outcome(done.stdout, without_agent_lines(done.stderr), done.returncode)


def without_agent_lines(stderr: str) -> str:
    """Leave out the log lines that the agent writes beside the program."""
    lines = stderr.splitlines(keepends=True)
    return "".join(line for line in lines if '"logger": "sluice.agent"' not in line)


@dataclass
class Running:
    """A program that runs under the agent, and what its agent answers."""

    process: subprocess.Popen[str]
    port: int

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Ask a verb with the job's token; return the document."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    def metrics(self) -> str:
        """Return the text that Prometheus would scrape."""
        url = f"http://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as response:
            return str(response.read().decode())

    def wait_for(self, wanted: str, holds: Any) -> Any:
        """Return the first state for which the claim holds; tell the last one if none does."""
        state: Any = None
        until = time.monotonic() + SECONDS_TO_END
        while time.monotonic() < until and self.process.poll() is None:
            try:
                state = self.ask("/v1/state")
            except (urllib.error.URLError, ConnectionError):
                state = None
            if state is not None and holds(state):
                return state
            time.sleep(0.2)
        # A program that goes on would be waited for until the whole test is over, and nobody told.
        ended = None if self.process.poll() is None else self.ended()
        raise AssertionError(f"never saw {wanted}; last: {state}; {ended}")

    def ended(self) -> Outcome:
        """Wait for the end of the program."""
        stdout, stderr = self.process.communicate(timeout=SECONDS_TO_END)
        return Outcome(stdout, without_agent_lines(stderr), self.process.returncode)

    def child(self) -> int:
        """Return the process id of the driver's JVM, the one child of the program."""
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(task.read_text().split()[0])

    def terminate(self) -> None:
        """Send SIGTERM, as the kubelet does."""
        self.process.send_signal(signal.SIGTERM)


@contextmanager
def running(pyz: Path, program: Path, **environment: str) -> Iterator[Running]:
    """Start a program under the agent, and leave nothing of it behind."""
    port = free_port()
    token_file = program.parent / "token"
    token_file.write_text(TOKEN)
    agent_environment = {
        "SLUICE_AGENT_PORT": str(port),
        "SLUICE_AGENT_TOKEN_FILE": str(token_file),
        "SLUICE_JOB_NAMESPACE": "shop",
        "SLUICE_JOB_NAME": "orders",
    }
    process = subprocess.Popen(
        [sys.executable, str(pyz), str(program)],
        cwd=program.parent,
        env={**os.environ, **agent_environment, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Running(process, port)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
