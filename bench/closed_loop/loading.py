"""The load of a run: a pod replays the trace, failures strike at their moments, and each minute is looked at.

Moments are counted from the generator's first row. Numbers that are sampled on the way may be missing: a busy cluster
does not answer each question, and a run goes on without it.
"""

import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from bench.closed_loop import gathering
from bench.closed_loop.contenders import JOB
from bench.closed_loop.figures import Struck
from bench.closed_loop.measurements import Cpu
from bench.closed_loop.pacing import Pace
from bench.closed_loop.scene import DRIVER_KILLED, PREDICTED, Scene, Strike
from bench.closed_loop.stage import Stage
from bench.progress import BenchmarkFailed
from e2e.faults.catalogue import FAULTS
from e2e.faults.field import Field, sending
from e2e.support.api import Json, wait_for
from e2e.support.jobs import Job
from sluice.core.deciding.storing import record_from_data
from sluice.core.foreseen import likely_recovery
from sluice.core.modelling.downtime import Cause
from sluice.core.series import NoData
from sluice.errors import CorruptState
from sluice.manifests import notebook

T = TypeVar("T")

SAMPLE = 60.0
"""Seconds between two looks."""

PATIENCE = 180.0
"""Seconds that a failure waits for somebody to strike."""

_SENT = re.compile(r"^\[ *([0-9.]+) s\] sent", re.MULTILINE)


@dataclass
class Loading:
    """The load on a job: `began` is in seconds since 1970, failures and samples in seconds since then."""

    stage: Stage
    scene: Scene
    pace: Pace
    began: float = 0.0
    cpu: list[Cpu] = field(default_factory=list)
    struck: list[Struck] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.job = Job(self.stage.cluster, self.stage.namespace, JOB)
        self.field = Field(self.stage.cluster, self.job, self.stage.home, home="", away="")

    def replay(self) -> None:
        """Replay the whole trace, with all that happens meanwhile."""
        scene = self.scene
        what = ("--schema", "enrichment", "--trace", scene.trace, "--seed", str(scene.seed))
        until = ("--duration", f"{scene.seconds:g}")
        place = (self.stage.cluster, self.stage.namespace, f"{JOB}-in")
        with sending(*place, *what, *until) as pod:
            self.began = wait_for("the load", partial(self._beginning, pod), seconds=120)
            for at, act in self._agenda():
                pause(at - self._now())
                act()
            wait_for("the end of the load", partial(self._has_ended, pod), seconds=240, every=2)
            self._count_from(self._exact_beginning(pod))

    def _agenda(self) -> list[tuple[float, Callable[[], None]]]:
        """Failures and looks, in their order."""
        looks = [SAMPLE * (number + 1) for number in range(int(self.scene.seconds / SAMPLE))]
        agenda: list[tuple[float, Callable[[], None]]] = [
            *((strike.at, partial(self._strike, strike)) for strike in self.scene.strikes),
            *((at, self._look) for at in looks),
        ]
        return sorted(agenda, key=lambda entry: entry[0])

    def _beginning(self, pod: str) -> float | None:
        """When the generator began, by its first line."""
        told = _SENT.search(self._log(pod))
        return time.time() - float(told[1]) if told else None

    def _exact_beginning(self, pod: str) -> float:
        """When the generator began, by the account that it gives at its end."""
        (account,) = (line for line in self._log(pod).splitlines() if line.startswith("{"))
        return datetime.fromisoformat(json.loads(account)["started"]).timestamp()

    def _count_from(self, exactly: float) -> None:
        """Count from that moment, not from the one that was taken for it."""
        late, self.began = self.began - exactly, exactly
        self.struck = [replace(one, at=round(one.at + late, 1)) for one in self.struck]
        self.cpu = [replace(one, at=round(one.at + late, 1)) for one in self.cpu]

    def _has_ended(self, pod: str) -> bool:
        found = self.stage.cluster.get("Pod", self.stage.namespace, pod)
        phase = found["status"].get("phase") if found is not None else "gone"
        if phase in ("Failed", "gone"):
            raise BenchmarkFailed(
                f"the pod that sends the load is {phase}: {self._log(pod)[-500:]}"
            )
        return bool(phase == "Succeeded")

    def _log(self, pod: str) -> str:
        return self.stage.cluster.kubectl("logs", pod, "-n", self.stage.namespace, check=False)

    def _now(self) -> float:
        return time.time() - self.began

    # Each minute.

    def _look(self) -> None:
        """Note the CPU of the executors, and say how things stand."""
        used = attempted(partial(gathering.cpu, self.stage, self._now))
        if used is not None:
            self.cpu.append(used)
        self.pace.note(attempted(self._told) or "the cluster does not answer")

    def _told(self) -> str:
        status = self.job.read()["status"]
        summary = status.get("summary", {})
        return (
            f"{self.scene.rate(self._now()):.0f} rows/s, {summary.get('executors', '?')} executors, "
            f"latency {summary.get('latency', '?')}, lag {summary.get('lag', '?')}, {status.get('phase', '?')}"
        )

    # Failures.

    def _strike(self, strike: Strike) -> None:
        """Do a failure as soon as there is somebody to strike: a driver may just be away."""
        predicted = attempted(partial(self._predicted, strike.fault))
        wait_for(f"victims of: {strike.fault}", partial(self._victims, strike), seconds=PATIENCE)
        executors, at = len(self.field.executor_pods()), self._now()
        FAULTS[strike.fault].harm(self.field, random.Random(self.scene.seed))
        self.struck.append(
            Struck(fault=strike.fault, at=round(at, 1), executors=executors, predicted=predicted)
        )
        told = "" if predicted is None else f", predicted to be over in {predicted:.0f} s"
        self.pace.say(f"{strike.fault} at {at:.0f} s, of {executors} executors{told}")

    def _victims(self, strike: Strike) -> list[Json]:
        if strike.fault != DRIVER_KILLED:
            return self.field.executor_pods()
        return [pod for pod in self.field.driver_pods() if pod["status"].get("phase") == "Running"]

    def _predicted(self, fault: str) -> float | None:
        """The recovery from such a failure in the situation of the newest decision, as the lab predicts it."""
        if fault not in PREDICTED:
            return None
        book = self.stage.cluster.get("ConfigMap", self.stage.namespace, notebook.name(JOB))
        decisions = notebook.read_notebook(book or {}).decisions
        if not decisions:
            return None
        cause = Cause.DRIVER_LOSS if fault == DRIVER_KILLED else Cause.EXECUTOR_LOSS
        situation = record_from_data(list(decisions.values())[-1]).situation
        found = likely_recovery(situation, cause)
        return None if isinstance(found, NoData) else round(found, 1)


def pause(seconds: float) -> None:
    """Let time pass; nothing if there is none left."""
    time.sleep(max(0.0, seconds))


def attempted(look: Callable[[], T]) -> T | None:
    """What a look gives; None where the cluster does not answer, or not as expected."""
    try:
        return look()
    except (ApiException, HTTPError, CorruptState, AssertionError, ValueError):
        return None
