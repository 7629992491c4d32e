"""One run on the cluster: rows that wait, a profile where one is used, the load with its failures, and the account."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from statistics import fmean, median

from bench import report
from bench.closed_loop import contenders, gathering, pacing
from bench.closed_loop.contenders import JOB
from bench.closed_loop.figures import Profiled
from bench.closed_loop.loading import Loading, attempted, pause
from bench.closed_loop.measurements import Account, Away, Measurement
from bench.closed_loop.pacing import Pace
from bench.closed_loop.scene import Scene
from bench.closed_loop.simulating import TAIL
from bench.closed_loop.stage import Stage
from bench.progress import BenchmarkFailed
from e2e.support.api import Json, condition, to_yaml, wait_for
from e2e.support.jobs import Job

FAST = 2000
"""Rows per second of the history."""

LOOKS = 10.0
"""Seconds between two looks at the history that is drained, and at the CPU that this takes."""


@dataclass
class Run:
    """A contender on a stage."""

    stage: Stage
    scene: Scene
    contender: str
    pace: Pace

    def __post_init__(self) -> None:
        self.job = Job(self.stage.cluster, self.stage.namespace, JOB)

    def measured(self) -> Measurement:
        """Do it, and give all that is kept of it."""
        self.pace.begin(pacing.HISTORY)
        self._send_history()
        with self._applied():
            profile = self._profile() if self.contender in contenders.PROFILED else None
            self.pace.begin(pacing.DRAINING)
            self.job.wait_until_ready()
            ready = time.time()
            saturated = self._drain()
            with self._scaled_by(saturated) as aim:
                self.pace.begin(pacing.LOADING)
                loading = Loading(stage=self.stage, scene=self.scene, pace=self.pace)
                loading.replay()
                pause(TAIL)
                self.pace.begin(pacing.CHECKING)
                found = self._measurement(loading, ready)
        return replace(found, saturated=saturated, aim=aim, profile=profile)

    # Before the load.

    def _send_history(self) -> None:
        load = self.stage.load
        load.create_topic(f"{JOB}-in", partitions=self.scene.partitions)
        load.create_topic(f"{JOB}-out", partitions=self.scene.partitions)
        load.send(f"{JOB}-in", rate=FAST, records=self.scene.history, schema="enrichment")

    @contextmanager
    def _applied(self) -> Iterator[None]:
        body = contenders.stream_job(self.scene, self.contender)
        self.stage.cluster.apply(to_yaml(body), self.stage.namespace)
        try:
            yield
        finally:
            self.pace.begin(pacing.REMOVING)
            self.stage.cluster.delete("StreamProfile", self.stage.namespace, JOB)
            self.stage.cluster.delete("StreamJob", self.stage.namespace, JOB)
            self.job.wait_until_gone(seconds=180)

    def _profile(self) -> Profiled:
        """Measure copies while the job rests, and let it begin."""
        self.pace.begin(pacing.PROFILING)
        self.job.wait("rest", _rests, seconds=60)
        body = contenders.stream_profile(self.scene, self.stage.copies)
        self.stage.cluster.apply(to_yaml(body), self.stage.namespace)
        ended = wait_for("the end of the profile", self._ended_profile, seconds=2000, every=5)
        status = ended["status"]
        if status["phase"] != "Succeeded":
            told = condition(ended, "Complete").get("message", "it does not say why")
            raise BenchmarkFailed(f"the profile of {self.contender} has failed: {told}")
        exact = [
            one for one in status["points"] if not (one.get("lowerBound") or one.get("upperBound"))
        ]
        if not exact:
            points = status.get("summary", {}).get("points", "nothing")
            raise BenchmarkFailed(
                f"the profile of {self.contender} has bounds only ({points}); send a longer history"
            )
        self.job.patch(suspend=False)
        return Profiled(
            points=tuple((one["executors"], one["rowsPerSecond"]) for one in exact),
            overhead=median(one.get("overheadSeconds", 0.0) for one in exact),
            executor_seconds=sum(
                one["executors"] * (_moment(one["endedAt"]) - _moment(one["startedAt"]))
                for one in status["copies"]
            ),
        )

    def _ended_profile(self) -> Json | None:
        profile = self.stage.cluster.get("StreamProfile", self.stage.namespace, JOB) or {}
        status = profile.get("status") or {}
        self.pace.note(status.get("summary", {}).get("points", ""))
        return profile if "endedAt" in status else None

    def _drain(self) -> float | None:
        """Let the job process its history; the millicores of an executor meanwhile, once it is warm."""
        used: list[float] = []

        def over() -> bool:
            rows = attempted(partial(gathering.processed, self.stage)) or 0.0
            self.pace.note(f"{rows:,.0f} of {self.scene.history:,} rows")
            if rows >= self.scene.history:
                return True
            one = attempted(partial(gathering.cpu, self.stage, time.time))
            if one is not None and one.executors == self.scene.largest:
                used.append(one.millicores)
            return False

        wait_for("an empty history", over, seconds=1200, every=LOOKS)
        warm = used[len(used) // 2 :]
        return round(fmean(warm), 1) if warm else None

    @contextmanager
    def _scaled_by(self, saturated: float | None) -> Iterator[float | None]:
        """The autoscaler beside the job, if that is who scales it; what it aims at, in millicores."""
        if self.contender != contenders.HPA:
            yield None
            return
        if saturated is None:
            raise BenchmarkFailed(
                "the metrics API has told nothing of the executors while they had a backlog, so the autoscaler has "
                "nothing to aim at; look at `kubectl top pods`, and measure again"
            )
        aim = float(round(saturated * self.scene.utilisation))
        body = contenders.autoscaler(self.scene, aim)
        self.stage.cluster.apply(to_yaml(body), self.stage.namespace)
        try:
            yield aim
        finally:
            self.stage.cluster.delete("HorizontalPodAutoscaler", self.stage.namespace, JOB)

    # After the load.

    def _measurement(self, loading: Loading, ready: float) -> Measurement:
        scene, began = self.scene, loading.began
        account = self.stage.load.check(self.job, seconds=300, kind="enrichment")
        status = self.job.read()["status"]
        return Measurement(
            contender=self.contender,
            taken=datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
            versions=report.versions("kopf"),
            course=gathering.course(self.stage, scene, began, ready),
            struck=tuple(loading.struck),
            account=Account(
                expected=account["expected"],
                lost=account["missing"],
                duplicated=account["duplicates"],
            ),
            restarts=gathering.restarts(self.stage, began, began + scene.seconds),
            aways=tuple(
                _away(told, began) for told in status.get("recoveries", {}).get("past", ())
            ),
            cpu=tuple(loading.cpu),
        )


def _rests(resource: Json) -> bool:
    return bool((resource.get("status") or {}).get("phase") == "Suspended")


def _away(told: Json, load_began: float) -> Away:
    return Away(
        cause=told["cause"],
        began=round(_moment(told["began"]) - load_began, 1),
        first_batch=told.get("firstBatch"),
        caught_up=told.get("caughtUp"),
    )


def _moment(text: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()
