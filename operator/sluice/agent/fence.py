"""Run the program only while this driver holds the Lease of its checkpoint.

Spark does not notice two drivers on one checkpoint: a frozen one that wakes up again would deliver rows twice. The
Lease is held by `keeper`, a process of its own that ends the driver when it cannot hold it any longer; and when the
keeper itself is gone, the driver ends here. Without a Lease in the settings there is no fence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable

from sluice.agent import farewell, logs, processes
from sluice.agent.settings import Settings

_RELEASE_SECONDS = 5


class GivenUp(SystemExit):
    """Ends a driver that may not begin: a later one has its checkpoint, or nobody can tell."""

    def __init__(self, told: str) -> None:
        super().__init__(97)
        self.told = told


class Fence:
    """The driver's side of the keeper."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._released = threading.Event()
        self._leaving = False
        self._keeper: subprocess.Popen[str] | None = None

    def enter(self, on_wait: Callable[[], None]) -> None:
        """Return when the Lease is ours, or when there is none to hold; raises GivenUp."""
        if not self._settings.lease:
            return
        keeper = self._start()
        assert keeper.stdout is not None
        for line in keeper.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "held":
                self._keeper = keeper
                threading.Thread(target=self._watch, name="sluice-agent-fence", daemon=True).start()
                logs.write("info", "This driver holds the Lease of its checkpoint")
                return
            if word == "superseded":
                raise GivenUp(f"{rest} has the Lease of the checkpoint: this driver was given up")
            logs.write("warning", "Waiting for the Lease of the checkpoint", reason=rest)
            on_wait()
        raise GivenUp("the process that was to hold the Lease of the checkpoint has ended")

    def leave(self) -> None:
        """Give the Lease back, so that the next driver need not wait for its end."""
        keeper = self._keeper
        if keeper is None or keeper.stdin is None or self._leaving:
            return
        self._leaving = True
        try:
            keeper.stdin.write("release\n")
            keeper.stdin.flush()
        except OSError:
            return
        self._released.wait(_RELEASE_SECONDS)

    def _start(self) -> subprocess.Popen[str]:
        settings = self._settings
        # Isolated: neither the program's variables nor its folder may change what this process imports.
        command = [sys.executable, "-I", os.path.dirname(os.path.dirname(__file__)), "--keep-lease"]
        keeper = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )
        assert keeper.stdin is not None
        word = {
            "driver": os.getpid(),
            "uid": settings.uid,
            "incarnation": int(settings.incarnation or 0),
            "seconds": settings.lease_seconds,
            "path": "/apis/coordination.k8s.io/v1/namespaces/"
            f"{settings.namespace}/leases/{settings.lease}",
        }
        keeper.stdin.write(json.dumps(word) + "\n")
        keeper.stdin.flush()
        # It forks and leaves: the program's own os.wait() must not meet a child of ours.
        keeper.wait()
        return keeper

    def _watch(self) -> None:
        assert self._keeper is not None
        assert self._keeper.stdout is not None
        for line in self._keeper.stdout:
            if line.strip() == "released":
                self._released.set()
        if not self._leaving:
            farewell.write(
                "Fenced", "the process that holds the Lease of the checkpoint was killed"
            )
            processes.kill_family(os.getpid())
        self._released.set()
