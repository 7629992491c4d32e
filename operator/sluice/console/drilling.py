"""Kill an executor or the driver of a job on purpose, and follow what becomes of it.

The operator is asked first, by an annotation that it answers in the status: so it is known to be at work, and knows
that the loss is a drill. The kill itself is done with the person's own rights. What is told of the recovery is what the
operator measures; only its detection is measured here.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import sleep
from typing import Any

from sluice.adapters.clock import SystemClock
from sluice.api import convert
from sluice.console import finding, words
from sluice.console.cluster import Cluster, path_of
from sluice.console.history import STAGES
from sluice.console.job import Job
from sluice.console.trouble import NotAllowed, NotNow, NotThere, Trouble, Unreachable, WrongUse
from sluice.core import asking
from sluice.core.application import JobKey, StreamJob
from sluice.core.drilling.records import ANNOTATION, Drill, Victim
from sluice.manifests import names
from sluice.manifests.profiling.labelling import profile_uid
from sluice.ports import PODS, STREAM_JOBS, STREAM_PROFILES, Clock, Json

EVERY = 0.5
"""Seconds between two looks."""

ANSWERED_WITHIN = timedelta(seconds=30)
"""An operator that is at work answers sooner."""

_ENDED = ("Succeeded", "Failed")
_DOCTOR = "`sluice doctor` says whether the operator works"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be killed, and what is expected: the declared target and the prediction, in seconds.

    `known` are the beginnings of the recoveries that the status has already.
    """

    job: StreamJob
    victim: Victim
    pod: str
    uid: str
    target: float
    predicted: float | None
    known: frozenset[str]
    at: datetime

    @property
    def name(self) -> str:
        """The namespace and the name of the job."""
        return str(self.job.key)

    @property
    def drill(self) -> Drill:
        """As the operator is asked for it."""
        pod = self.pod if self.victim is Victim.EXECUTOR else ""
        return Drill(victim=self.victim, at=self.at, pod=pod)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was measured, in seconds since the kill, by the stages of a recovery."""

    plan: Plan
    stages: Mapping[str, float]

    @property
    def recovery(self) -> float:
        """Until it had caught up."""
        return self.stages["caughtUp"]

    @property
    def is_met(self) -> bool:
        """Whether it took no longer than the target."""
        return self.recovery <= self.plan.target


def plan(cluster: Cluster, namespace: str, name: str, victim: Victim, pod: str | None) -> Plan:
    """What would be killed. Raises NotNow where it may not be, or the job is not in a state for it."""
    resource = finding.job(cluster, namespace, name)
    now = cluster.clock.shown if cluster.clock is not None else SystemClock().now()
    declared, job = convert.streamjob(resource), Job(resource)
    refusal = declared.drills.why_not(victim, now)
    if refusal is not None:
        raise NotNow(f"{namespace}/{name} is not drilled: {refusal}")
    _require_calm(job)
    _require_no_profile(cluster, job)
    chosen = _driver(cluster, job) if victim is Victim.DRIVER else _executor(cluster, job, pod)
    assert declared.recovery_target is not None, "what may be drilled is below it"
    expected = job.part("decision").get("likelyRecovery") if victim is Victim.DRIVER else None
    return Plan(
        job=declared,
        victim=victim,
        pod=chosen["metadata"]["name"],
        uid=chosen["metadata"]["uid"],
        target=declared.recovery_target.total_seconds(),
        predicted=expected,
        known=frozenset(one["began"] for one in _recoveries(job)),
        at=now,
    )


def told(plan: Plan) -> str:
    """What will be done, and what is expected of it."""
    who = "the driver" if plan.victim is Victim.DRIVER else "the executor"
    expected = (
        f"{words.span(plan.predicted)} is predicted"
        if plan.predicted is not None
        else "nothing is predicted"
    )
    return (
        f"{plan.name}: {who} {plan.pod} will be killed. "
        f"Recovery: {expected}, the target is {words.span(plan.target)}."
    )


@dataclass(frozen=True, slots=True)
class Drilling:
    """A plan, the cluster that it is carried out in, and the clock that tells how long it takes."""

    cluster: Cluster
    plan: Plan
    clock: Clock

    def ask(self) -> None:
        """Ask the operator for the drill, and wait for its answer. Raises NotNow if it refuses, or is silent."""
        asked = str(self.plan.drill)
        self.annotate(asked)
        try:
            self._await_answer(asked)
        except (Trouble, KeyboardInterrupt):
            # Nothing was killed: what is lost now is lost in earnest.
            self.annotate(None)
            raise

    def kill(self) -> datetime:
        """Kill it, and tell when that was. Where that is not possible, the operator is told so."""
        try:
            path = path_of(PODS, self.plan.job.key.namespace, self.plan.pod)
            self.cluster.kill(path, self.plan.uid)
        except Trouble:
            self.annotate(None)
            raise
        return self.clock.now()

    def followed(
        self, killed: datetime, longest: timedelta, tell: Callable[[str], None]
    ) -> Outcome:
        """Follow the recovery to its end, and tell of each stage. Raises NotNow after the longest time."""
        stages: dict[str, float] = {}
        is_asked = True
        while self.clock.now() < killed + longest:
            for stage, seconds in self._stages(killed, stages.get("detection")):
                if stage not in stages:
                    tell(f"{seconds:7.1f} s  {STAGES[stage]}")
                stages[stage] = seconds
            if stages and is_asked:
                # What is lost from now on is lost in earnest.
                is_asked = not self._withdrawn()
            if "caughtUp" in stages:
                return Outcome(plan=self.plan, stages=stages)
            sleep(EVERY)
        raise NotNow(
            f"{self.plan.name} has not recovered within {words.long_span(longest)}",
            f"The operator goes on; {where_to_look(self.plan)}",
        )

    def annotate(self, value: str | None) -> None:
        """Ask for a drill, or for none any more."""
        key = self.plan.job.key
        path = path_of(STREAM_JOBS, key.namespace, key.name)
        self.cluster.patch(path, {"metadata": {"annotations": {ANNOTATION: value}}})

    def _withdrawn(self) -> bool:
        """Ask for no drill any more; whether the cluster has heard it, which may be away for a while."""
        try:
            self.annotate(None)
        except Unreachable:
            return False
        return True

    def _await_answer(self, asked: str) -> None:
        deadline = self.clock.now() + ANSWERED_WITHIN
        while self.clock.now() < deadline:
            answer = self._look().part("drill")
            if answer.get("asked") == asked and answer.get("accepted"):
                return
            if answer.get("asked") == asked:
                told = f"the operator refuses, and nothing was killed: {answer.get('message')}"
                raise NotNow(told)
            sleep(EVERY)
        within = words.span(ANSWERED_WITHIN.total_seconds())
        raise NotNow(f"no operator has answered within {within}; nothing was killed", _DOCTOR)

    def _stages(self, killed: datetime, detection: float | None) -> Iterator[tuple[str, float]]:
        """The stages that are reached, in seconds since the kill; a cluster that is away tells of none."""
        try:
            job = self._look()
        except Unreachable:
            return
        recovery = next((one for one in _recoveries(job) if _is_of(self.plan, one)), None)
        if recovery is None:
            return
        if detection is None:
            detection = (self.clock.now() - killed).total_seconds()
        for stage in STAGES:
            if stage in recovery:
                yield stage, detection + recovery[stage] - recovery.get("detection", 0.0)

    def _look(self) -> Job:
        key = self.plan.job.key
        return Job(finding.job(self.cluster, key.namespace, key.name))


def where_to_look(plan: Plan) -> str:
    """How a person goes on looking."""
    key = plan.job.key
    return f"look with: kubectl sluice history {key.name} -n {key.namespace}"


def verdict(outcome: Outcome) -> str:
    """What was measured, against what was promised and predicted."""
    plan, measured = outcome.plan, words.span(outcome.recovery)
    kept = "met" if outcome.is_met else "missed"
    text = (
        f"{plan.name}: recovered in {measured}; the target of {words.span(plan.target)} is {kept}"
    )
    if plan.predicted is None:
        return text
    return f"{text}; {words.span(plan.predicted)} had been predicted"


def data(outcome: Outcome) -> Json:
    """The same for scripts, in seconds."""
    plan = outcome.plan
    return {
        "namespace": plan.job.key.namespace,
        "name": plan.job.key.name,
        "killed": str(plan.victim),
        "pod": plan.pod,
        "stages": {name: round(seconds, 3) for name, seconds in outcome.stages.items()},
        "recovery": round(outcome.recovery, 3),
        "target": plan.target,
        "predicted": plan.predicted,
        "met": outcome.is_met,
    }


def _is_of(plan: Plan, recovery: Mapping[str, Any]) -> bool:
    return "drilled" in recovery and recovery["began"] not in plan.known


def _recoveries(job: Job) -> Collection[Mapping[str, Any]]:
    recoveries = job.part("recoveries")
    return [*recoveries.get("past", ()), *filter(None, [recoveries.get("present")])]


def _require_calm(job: Job) -> None:
    """The job is well, and nothing else is done to it. Raises NotNow."""
    where = f"{job.namespace}/{job.name}"
    if job.is_suspended:
        raise NotNow(f"{where} is suspended: nothing runs that could be killed")
    if job.annotations.get(asking.PAUSED) == "true":
        told = f"{where} is paused: nobody would start what is killed"
        raise NotNow(told, f"Resume it first: kubectl sluice resume {job.name} -n {job.namespace}")
    if not job.is_fine:
        raise NotNow(f"{where} is not Ready: {job.why}", "Only a job that is well can be drilled")
    if job.part("recoveries").get("present"):
        raise NotNow(f"{where} recovers already", "Wait until it has caught up")
    executors = job.part("executors")
    if executors.get("running") != executors.get("wanted"):
        told = f"{executors.get('running')} of {executors.get('wanted')} executors run"
        raise NotNow(f"{where} is being rescaled: {told}", "Wait until they are there")


def _require_no_profile(cluster: Cluster, job: Job) -> None:
    """A copy beside it would take what the recovery needs. Raises NotNow."""
    if profile_uid(job.resource) is not None:
        raise NotNow(f"{job.namespace}/{job.name} is a copy that is profiled; drill its original")
    try:
        profiles = cluster.list(STREAM_PROFILES, job.namespace)
    except (NotThere, NotAllowed):
        return
    for one in profiles:
        goes_on = (one.get("status") or {}).get("phase") not in _ENDED
        if one["spec"].get("job") == job.name and goes_on:
            name = one["metadata"]["name"]
            remedy = f"Wait for its end, or end it: kubectl delete sp {name} -n {job.namespace}"
            raise NotNow(f"{job.namespace}/{job.name} is being profiled by {name}", remedy)


def _driver(cluster: Cluster, job: Job) -> Json:
    return cluster.get(path_of(PODS, job.namespace, names.driver_pod(job.name)))


def _executor(cluster: Cluster, job: Job, pod: str | None) -> Json:
    """The executor of that name, else any. Raises WrongUse if it is none of the job's."""
    selector = names.executor_selector(JobKey(job.namespace, job.name))
    found = [
        one
        for one in cluster.list(PODS, job.namespace, labelSelector=selector)
        if one.get("status", {}).get("phase") == "Running"
        and "deletionTimestamp" not in one["metadata"]
    ]
    if not found:
        raise NotNow(f"{job.namespace}/{job.name} has no running executor")
    if pod is None:
        return random.choice(found)
    for one in found:
        if one["metadata"]["name"] == pod:
            return one
    there = ", ".join(sorted(one["metadata"]["name"] for one in found))
    raise WrongUse(
        f"{pod!r} is no running executor of {job.namespace}/{job.name}", f"Its are: {there}"
    )
