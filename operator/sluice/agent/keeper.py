"""Hold the Lease of the checkpoint for the driver, and end the driver when it cannot be held.

A process of its own: user code can block the interpreter that the agent shares with it, and a driver must not die of
that. It renews the Lease, and looks at its own clock five times a second. When the last renewal is too old, because the
API server was away, or because the machine, the container or this process stood still, it kills the JVM and the
program at once, before anybody else may take the checkpoint over. `fence` is its counterpart in the driver.

    input    one line of JSON with the settings; later "release"
    output   "waiting REASON" | "held" | "released" | "superseded HOLDER", one a line
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from sluice.agent import farewell, holding, processes
from sluice.agent.holding import Free, Identity, Superseded
from sluice.agent.lease import Changed, Lease, Leases, Unreachable

_LOOK_SECONDS = 0.2
_TRY_AGAIN_SECONDS = 1.0


def main() -> None:
    """Read the settings, leave the driver's family, and work until released or until the driver is gone."""
    line = sys.stdin.readline()
    if not line or os.fork():
        os._exit(0)
    os.setsid()
    settings = json.loads(line)
    Keeper(settings, Leases(settings["path"], os.environ)).run()


def now() -> float:
    """Seconds that pass also while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Keeper:
    """Holds one Lease for one driver."""

    def __init__(self, settings: Mapping[str, Any], leases: Leases) -> None:
        self._driver: int = settings["driver"]
        self._me = Identity(settings["uid"], settings["incarnation"])
        self._seconds: int = settings["seconds"]
        self._leases = leases
        self._lease: Lease | None = None
        self._renewed = now()
        self._trouble = ""
        self._released = threading.Event()

    def run(self) -> None:
        """Take the Lease, then hold it."""
        end = _end_of(self._driver)
        if not self._take(lambda: bool(_readable(end, _TRY_AGAIN_SECONDS))):
            return
        threading.Thread(target=self._renew_always, daemon=True).start()
        _say("held")
        while True:
            ready = _readable([*end, sys.stdin.fileno()], _LOOK_SECONDS)
            self._end_if_late()
            if ready and (ready[0] in end or self._asked_to_release()):
                return

    def _take(self, driver_ends: Callable[[], bool]) -> bool:
        """Take the Lease as soon as it may be taken; False if the driver is gone or was given up before."""
        claim, told = None, ""
        while True:
            waiting = ""
            try:
                lease = self._leases.read()
                judgement = holding.judged(lease, self._me, claim, now())
                if isinstance(judgement, Free):
                    self._write(lease)
                    return True
                if isinstance(judgement, Superseded):
                    _say(f"superseded {judgement.holder}")
                    return False
                claim = judgement.claim
                waiting = f"{claim.holder} holds the Lease of the checkpoint"
            except Changed:
                continue
            except Unreachable as error:
                waiting = f"the Lease of the checkpoint cannot be had: {error}"
            if waiting != told:
                told = waiting
                _say(f"waiting {waiting}")
            if driver_ends():
                return False

    def _write(self, lease: Lease) -> None:
        begun = now()
        self._lease = self._leases.write(lease.taken_by(str(self._me), self._seconds, time.time()))
        self._renewed = begun

    def _renew_always(self) -> None:
        pause = self._seconds / holding.RENEWALS
        while not self._released.wait(pause):
            # Who wakes up late ends, though nobody may have taken the Lease yet.
            self._end_if_late()
            pause = self._seconds / holding.RENEWALS if self._renew() else _TRY_AGAIN_SECONDS

    def _renew(self) -> bool:
        assert self._lease is not None
        try:
            self._write(self._lease)
        except Changed:
            return self._look_again()
        except Unreachable as error:
            self._trouble = str(error)
            return False
        self._trouble = ""
        return True

    def _look_again(self) -> bool:
        """Somebody wrote the Lease: if it is still ours, go on from there; the next renewal follows at once."""
        try:
            lease = self._leases.read()
        except Unreachable as error:
            self._trouble = str(error)
            return False
        if lease.holder != str(self._me) and not self._released.is_set():
            self._end(f"{lease.holder or 'nobody'} holds it")
        self._lease = lease
        return False

    def _asked_to_release(self) -> bool:
        if not sys.stdin.readline():
            # The driver has closed its end, or ends; if it lives, it sees our end go and ends, too.
            return True
        self._released.set()
        for _ in range(3):
            try:
                self._leases.write(self._leases.read().released(time.time()))
                break
            except (Changed, Unreachable):
                continue
        _say("released")
        return True

    def _end_if_late(self) -> None:
        if now() > holding.deadline(self._renewed, self._seconds):
            why = self._trouble or "everything stood still"
            self._end(f"the Lease could not be renewed: {why}")

    def _end(self, why: str) -> None:
        """Kill the JVM, leave word, kill the program. Until then the program stands still: it can neither write nor
        leave a word of its own, and its container, which takes this process with it, is still there.
        """
        processes.freeze(self._driver)
        processes.kill_descendants(self._driver)
        farewell.write(
            "Fenced", f"the driver was ended, it may not write its checkpoint any more: {why}"
        )
        processes.kill_family(self._driver)
        os._exit(97)


def _end_of(process: int) -> list[int]:
    """What becomes readable when a process ends; nothing where the kernel, or a sandbox, does not offer it. Then
    the closed input tells of the driver's end, if no child that it forked keeps it open.
    """
    try:
        return [os.pidfd_open(process)]
    except (AttributeError, OSError):
        return []


def _readable(descriptors: list[int], seconds: float) -> list[int]:
    """Those that can be read, as soon as there is one, and after so many seconds anyway."""
    return select.select(descriptors, [], [], seconds)[0]


def _say(word: str) -> None:
    sys.stdout.write(word.replace("\n", " ") + "\n")
    sys.stdout.flush()
