"""The operator is killed at each step of a profile, of live rescales and of a restart: each goes on where it was.

`make steps-drill`: a quarter of an hour. A line tells of each kill, and a table of all steps comes at the end of each
test. It writes bench/results/steps.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import pytest

from bench import report
from bench.report import Result
from e2e.faults.field import sender
from e2e.support.api import Cluster, Json, to_yaml, wait_for
from e2e.support.drivers import Driver
from e2e.support.jobs import Job, enrichment, progress_of
from e2e.support.killing import killing
from e2e.support.load import Load
from e2e.support.profiles import Profile
from e2e.support.steps import Course, Reached, Sight, Step

PROFILED = "stepped"
WAIT = 8
"""Milliseconds for each record: a core does 125 records per second at most."""
RECORDS = 120_000
"""More than two executors can do in eight minutes, for a copy goes on while no operator is there."""

RATE = 100
IN_FLIGHT = RATE * 10
"""Rows that a driver may leave to be written again: half a minute of them, as a third of the records are views."""

HALF_MEASURED = 6
"""The batch of a copy after the first ones, and well before the minute and a half that a measurement takes at least."""

PROFILE, LIVE, RESTART = "a profile", "live rescales", "a restart"


@pytest.fixture(scope="module")
def courses() -> Iterator[dict[str, Course]]:
    """What came of each test that has passed, by what went on in it; written if that is all of them."""
    known: dict[str, Course] = {}
    yield known
    if known.keys() == {PROFILE, LIVE, RESTART}:
        _write(known)


@pytest.mark.timeout(2 * 3600)
def test_a_profile_goes_on_from_each_step_at_which_the_operator_was_killed(
    cluster: Cluster,
    namespace: str,
    places: tuple[str, ...],
    operator: str,
    load: Load,
    courses: dict[str, Course],
) -> None:
    load.create_topic(f"{PROFILED}-in", partitions=12)
    load.create_topic(f"{PROFILED}-out", partitions=4)
    load.send(f"{PROFILED}-in", rate=4000, records=RECORDS, schema="enrichment")
    body = enrichment(PROFILED, WAIT)
    body["spec"]["scaling"] = {"mode": "Off"}
    body["spec"]["executors"]["initial"] = 2
    cluster.apply(to_yaml(body), namespace)
    job, profile = Job(cluster, namespace, PROFILED), Profile(cluster, namespace, PROFILED, places)
    older = Profile(cluster, namespace, f"{PROFILED}-older", places[1:])
    kinds = ("StreamJob", "Pod", "PersistentVolumeClaim")
    watched = [(kind, place) for place in places for kind in kinds]
    try:
        production = _uid(wait_for("its driver", job.driver, seconds=60))
        older.start(PROFILED, executors=[1])
        _wait_for_driver(cluster, places[1])
        with killing(cluster, operator, ("StreamProfile", namespace), *watched) as killer:
            budget = {"coreHours": 2, "wallTime": "60m"}
            profile.start(PROFILED, executors=[1, 2], parallel=1, copyDeadline="20m", budget=budget)
            killer.kill_at([_waits(profile)], seconds=120)
            # It goes while no operator is there that could see it go.
            older.delete()
            steps = [_leaves(older), *_of_copy(profile, 1), *_of_copy(profile, 2)]
            killer.kill_at(steps, seconds=3600, never=lambda sight: _failure(profile, sight))
            killer.wait_until_led()
            status = profile.wait_until_ended()
            _nothing_was_done_twice(killer.sight, profile, status)
        account = load.check(job, seconds=900, kind="enrichment")
        assert (account["missing"], account["duplicates"]) == (0, 0), account
        assert _uid(job.driver()) == production
        assert job.read()["status"]["incarnation"] == 1
        courses[PROFILE] = killer.course(account)
    finally:
        older.delete()
        profile.delete()
        cluster.delete("StreamJob", namespace, PROFILED)
        job.wait_until_gone(seconds=180)


def _wait_for_driver(cluster: Cluster, place: str) -> None:
    """A copy's runs: so its profile is older than any that comes now, by whole seconds."""

    def runs() -> bool:
        pod = cluster.get("Pod", place, f"{PROFILED}-driver")
        return pod is not None and pod["status"]["phase"] == "Running"

    wait_for("the driver of a copy", runs, seconds=120)


def _waits(profile: Profile) -> Step:
    return Step(
        name="profile: waits for an older one",
        is_reached=lambda sight: _told_of(profile, sight).get("phase") == "Pending",
    )


def _leaves(older: Profile) -> Step:
    """Its copy of one executor is being removed: the claim goes first, and the next operator finds the rest."""
    (place,) = older.places
    return Step(
        name="older profile: its copy goes",
        is_reached=lambda sight: sight.is_leaving("PersistentVolumeClaim", place, _claim(1)),
    )


def _of_copy(profile: Profile, executors: int) -> Iterator[Step]:
    """From the decision on a copy to its end."""
    place, claim = profile.places[executors - 1], _claim(executors)

    def copy(sight: Sight) -> Json:
        copies = _told_of(profile, sight).get("copies", [])
        return next((one for one in copies if one["executors"] == executors), {})

    def job(sight: Sight) -> Json:
        """Its StreamJob: before it is decided upon, one of another profile may be there."""
        return sight.of("StreamJob", place, PROFILED) if copy(sight) else {}

    def has_ended(sight: Sight, kind: str, name: str) -> bool:
        return "endedAt" in copy(sight) and sight.is_leaving(kind, place, name)

    step = partial(_step, f"copy of {executors}")
    yield step("is decided upon", copy)
    yield step("has a claim", lambda it: it.of("PersistentVolumeClaim", place, claim))
    yield step("has a StreamJob", job)
    yield step("has a driver", lambda it: job(it) and it.of("Pod", place, f"{PROFILED}-driver"))
    # With its first batch in the same write, if that came while no operator was there.
    yield step("starts", lambda it: _phase(job(it)) == "Starting", may_be_missed=True)
    yield step("runs", lambda it: _phase(job(it)) == "Running")
    yield step("is being measured", lambda it: copy(it).get("phase") == "Measuring")
    yield step("is half measured", lambda it: progress_of(job(it)) >= HALF_MEASURED)
    yield step("has its point", lambda it: _point(_told_of(profile, it), executors))
    yield step("the claim goes", lambda it: has_ended(it, "PersistentVolumeClaim", claim))
    yield step("the copy goes", lambda it: has_ended(it, "StreamJob", PROFILED))


def _told_of(profile: Profile, sight: Sight) -> Json:
    """The status of a profile."""
    return sight.of("StreamProfile", profile.namespace, profile.name).get("status") or {}


def _claim(executors: int) -> str:
    return f"{PROFILED}-x{executors}-profile"


def _phase(resource: Json) -> str:
    phase: str = (resource.get("status") or {}).get("phase", "")
    return phase


def _point(status: Json, executors: int) -> Json:
    points = status.get("points", [])
    return next((point for point in points if point["executors"] == executors), {})


def _failure(profile: Profile, sight: Sight) -> Json | None:
    status = _told_of(profile, sight)
    return status if status.get("phase") == "Failed" else None


def _nothing_was_done_twice(sight: Sight, profile: Profile, status: Json) -> None:
    """Each copy was made and started once, and its measurement is the one that ended it."""
    print(f"points: {status['points']}", flush=True)
    copies, points = status["copies"], status["points"]
    assert [copy["executors"] for copy in copies] == [1, 2], status
    assert [copy["phase"] for copy in copies] == ["Measured", "Measured"], status
    assert [point["executors"] for point in points] == [1, 2], status
    assert [point["measuredAt"] for point in points] == [copy["endedAt"] for copy in copies], status
    one, two = (point["rowsPerSecond"] for point in points)
    assert 0.3 * 1000 / WAIT < one < 1.1 * 1000 / WAIT
    assert 1.2 < two / one < 2.5
    # The older profile has had one in the second place, too.
    for place, made in zip(profile.places, (1, 2), strict=True):
        assert sight.count("StreamJob", place, PROFILED) == made
        assert sight.count("Pod", place, f"{PROFILED}-driver") == made


@pytest.mark.timeout(3600)
def test_live_rescales_go_on_from_each_step_at_which_the_operator_was_killed(
    job: Job, load: Load, operator: str, courses: dict[str, Course]
) -> None:
    with sender(job.cluster, job.namespace, f"{job.name}-in", rate=RATE):
        progress = progress_of(job.wait_until_ready())
        driver = _uid(job.driver())
        watched = [(kind, job.namespace) for kind in ("StreamJob", "Pod")]
        with killing(job.cluster, operator, *watched) as killer:
            for former, wanted in ((1, 3), (3, 1)):
                generation = _next_generation(job)
                job.patch(executors={"initial": wanted})
                steps = [*_of_live_rescale(job, generation, former, wanted)]
                killer.kill_at(steps, seconds=900)
                killer.wait_until_led()
                _wait_for_work(job, wanted)
                progress = progress_of(_further(job, progress))
        status = job.read()["status"]
    account = load.check(job)
    assert account["right"], account
    assert account["duplicates"] == 0, "a batch was repeated"
    assert _uid(job.driver()) == driver
    assert status["incarnation"] == 1
    assert status["staffing"]["executors"] == 1
    assert "fallback" not in status["staffing"]
    assert not status.get("recoveries", {}).get("count")
    courses[LIVE] = killer.course(account)


def _of_live_rescale(job: Job, generation: int, former: int, wanted: int) -> Iterator[Step]:
    """From the change of the spec, which makes this generation, until all executors have worked."""

    def told(sight: Sight) -> Json:
        return _answer(job, generation, sight)

    def staffing(sight: Sight) -> Json:
        followed: Json = told(sight).get("staffing", {})
        return followed if followed.get("executors") == wanted else {}

    def pods(sight: Sight) -> int:
        found = sight.all("Pod", job.namespace, job=job.name, role="executor")
        return sum("deletionTimestamp" not in pod["metadata"] for pod in found)

    def moves(sight: Sight) -> bool:
        return pods(sight) >= wanted if wanted > former else pods(sight) < former

    step = partial(_step, f"{former} to {wanted}")
    yield step("is answered", told)
    yield step("executors are asked for", staffing)
    yield step("pods come" if wanted > former else "pods go", moves)
    yield step("as many run", lambda it: told(it).get("executors", {}).get("running") == wanted)
    yield step("executors have come", lambda it: "cameAt" in staffing(it))
    yield step("executors are used", lambda it: "usedAt" in staffing(it))


@pytest.mark.timeout(3600)
def test_a_restart_goes_on_from_each_step_at_which_the_operator_was_killed(
    job: Job, load: Load, operator: str, courses: dict[str, Course]
) -> None:
    name = f"{job.name}-driver"
    with sender(job.cluster, job.namespace, f"{job.name}-in", rate=RATE):
        job.wait_until_ready()
        first = _uid(job.driver())
        watched = [(kind, job.namespace) for kind in ("StreamJob", "Pod")]
        with killing(job.cluster, operator, *watched) as killer:
            generation = _next_generation(job)
            job.patch(executors={"initial": 2, "memory": "640Mi"})
            killer.kill_at([*_of_restart(job, generation, first)], seconds=1200)
            killer.wait_until_led()
            _wait_for_work(job, 2)
            assert killer.sight.count("Pod", job.namespace, name) == 2, "more than one new driver"
        status = job.wait_until_ready()["status"]
    account = load.check(job, seconds=240)
    assert account["right"], account
    assert account["duplicates"] <= IN_FLIGHT, "more than the batch in flight"
    # A kill between the count of a driver and its pod costs a number, which is never given twice.
    assert status["incarnation"] in (2, 3)
    assert not status.get("failures", {}).get("inARow")
    (recovery,) = status["recoveries"]["past"]
    assert recovery["cause"] == "SpecChange"
    courses[RESTART] = killer.course(account)


def _of_restart(job: Job, generation: int, first: str) -> Iterator[Step]:
    """From the change of the spec, which makes this generation, until the next driver has caught up."""
    name = f"{job.name}-driver"

    def told(sight: Sight) -> Json:
        return _answer(job, generation, sight)

    def next_told(sight: Sight) -> Json:
        status = told(sight)
        return status if status.get("incarnation", 0) > 1 else {}

    def driver(sight: Sight) -> str:
        pod = sight.of("Pod", job.namespace, name)
        return _uid(pod) if pod else ""

    def leaves(sight: Sight) -> bool:
        return driver(sight) != first or sight.is_leaving("Pod", job.namespace, name)

    step = partial(_step, "restart")
    yield step("the driver is to stop", lambda it: "stopping" in told(it))
    yield step("the driver stops", lambda it: driver(it) and leaves(it))
    yield step("the driver is gone", lambda it: told(it) and driver(it) != first)
    yield step("the next driver is counted", next_told)
    yield step("the next driver has a pod", lambda it: driver(it) not in ("", first))
    # With its first batch in the same write, if that came while no operator was there.
    yield step(
        "the next driver starts",
        lambda it: next_told(it).get("phase") == "Starting",
        may_be_missed=True,
    )
    yield step("the next driver runs", lambda it: next_told(it).get("phase") == "Running")
    yield step("the recovery is on record", lambda it: told(it).get("recoveries", {}).get("count"))


def _step(about: str, name: str, is_reached: Reached, *, may_be_missed: bool = False) -> Step:
    return Step(name=f"{about}: {name}", is_reached=is_reached, may_be_missed=may_be_missed)


def _answer(job: Job, generation: int, sight: Sight) -> Json:
    """The status of a job as soon as it is about a generation of the spec; empty before."""
    status: Json = sight.of("StreamJob", job.namespace, job.name).get("status") or {}
    return status if status.get("observedGeneration", 0) >= generation else {}


def _next_generation(job: Job) -> int:
    """That which the next change of the spec makes."""
    generation: int = job.read()["metadata"]["generation"]
    return generation + 1


def _wait_for_work(job: Job, executors: int) -> None:
    """So many executors run, as the status and Spark tell, and each of them has worked."""
    as_wanted = {"running": executors, "wanted": executors}
    job.wait(f"{executors} executors", lambda it: it["status"]["executors"] == as_wanted)
    working = Driver(job).working
    wait_for(f"{executors} executors at work", lambda: working() == executors, seconds=120)


def _further(job: Job, progress: int) -> Json:
    """The job after another batch."""
    return job.wait("a further batch", lambda resource: progress_of(resource) > progress)


def _uid(resource: Json | None) -> str:
    assert resource is not None
    uid: str = resource["metadata"]["uid"]
    return uid


def _write(courses: Mapping[str, Course]) -> None:
    result = Result(
        name="steps",
        title="The operator killed at each step of what it does",
        method="As soon as a step shows in the API server, the operator's process is killed (SIGKILL) and its pod is "
        "deleted, so that its Lease has to run out. The next operator goes on; nothing may be done twice, no record "
        "lost. A profile with two copies while an older one is deleted, live rescales 1-3-1, and a restart with other "
        "settings, each under load on the local cluster. Of the restart, Kafka may get the batch in flight again.",
        settings={"rate": RATE, "wait": WAIT, "records": RECORDS},
        versions=report.versions("kopf"),
        runs={name: course.figures() for name, course in courses.items()},
        are_repeats=False,
        notes="\n\n".join(
            f"## {name.capitalize()}\n\nAll times are seconds since its beginning.\n\n{course.table()}"
            for name, course in courses.items()
        ),
    )
    print(f"written: {report.write(result)}")
