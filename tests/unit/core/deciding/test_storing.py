"""A stored situation gives the same decision again, is small, and is refused when it cannot be read."""

import json
import math
import random
from dataclasses import replace
from datetime import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.core.deciding.compacting import OLDEST, compacted, rounded, thinned
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.explain import HEADER, explained
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.harms import Harm
from sluice.core.deciding.policies.named import POLICIES, policy_named
from sluice.core.deciding.policies.phoebe import Phoebe
from sluice.core.deciding.situation import Batching, Bounds, Situation, Targets
from sluice.core.deciding.storing import Record, from_data, record_from_data, to_data
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Downtimes
from sluice.core.modelling.fetching import Fetching
from sluice.core.modelling.latency import LatencyModel, LatencyPoint
from sluice.core.modelling.shapes import Slots
from sluice.core.series import NoData
from sluice.core.windows import Window
from sluice.errors import CorruptState
from tests.unit.core.deciding.situations import AT, MODELS, flat, steady, wishes

HARM = Harm(
    at=AT - 60,
    decision="20251231T235900Z",
    before=14,
    executors=12,
    arrival=120_000.0,
    reason="the latency is 14.2 s",
)
STARTED = Downtimes().with_start(20.123).with_excess(15.23456789).with_pause(9.75)


def grown(seed: int = 1) -> Situation:
    """A job with two days of history each minute, and models full of what was learned."""
    chance = random.Random(seed)
    latencies = tuple(
        LatencyPoint(
            executors=chance.randint(2, 24),
            rate=2e5 * chance.random(),
            seconds=0.5 + 3 * chance.random(),
        )
        for _ in range(256)
    )
    sizes = [chance.randint(2, 24) for _ in range(150)]
    models = replace(
        MODELS,
        capacity=CapacityModel(
            points=tuple((s, 16_000 * s * chance.uniform(0.9, 1.1)) for s in sizes)
        ),
        latency=LatencyModel(
            observed=latencies,
            profiled=tuple(replace(point, profiled=True) for point in latencies),
        ),
    )
    history = tuple((-60.0 * age, 1e5 * (1 + chance.random())) for age in range(2880, -1, -1))
    return steady(130_000.123456789, 12, models=models, history=history, wishes=wishes(9))


def stored(situation: Situation) -> str:
    return json.dumps(to_data(situation), separators=(",", ":"))


@pytest.mark.parametrize("name", POLICIES)
def test_a_stored_decision_is_made_again(name: str) -> None:
    settings = Settings(
        max_step=5,
        blackouts=(Window(start=time(1), end=time(2), days=frozenset({"Mon"})),),
        error_budget=12.5,
    )
    record = Record(situation=grown(), policy=policy_named(name), settings=settings)
    data = json.loads(json.dumps(record.to_data()))
    assert record_from_data(data).decided() == decide(record.situation, record.policy, settings)
    assert record_from_data(data).settings == settings


def test_parameters_of_a_policy_are_stored() -> None:
    record = Record(situation=steady(), policy=Phoebe(downtime=60.0), settings=Settings())
    assert record_from_data(json.loads(json.dumps(record.to_data()))).policy == record.policy


@pytest.mark.parametrize(
    "situation",
    [
        steady(),
        grown(),
        steady(forecast=NoData("too short"), since_rescale=12.3456, history=()),
        steady(targets=Targets(), live=False, notes={"level": 1 / 3}),
        steady(harms=(HARM, replace(HARM, executors=16, undone=True))),
        steady(models=replace(MODELS, downtimes=STARTED)),
    ],
    ids=["steady", "grown", "young", "bare", "harmed", "started"],
)
def test_a_situation_comes_back_as_it_was_decided_on(situation: Situation) -> None:
    assert from_data(json.loads(stored(situation))) == compacted(situation)


@pytest.mark.parametrize("undone", [False, True])
def test_a_decision_after_harm_is_made_again(undone: bool) -> None:
    situation = steady(100_000, 12, harms=(replace(HARM, undone=undone),))
    record = Record(situation=situation, policy=policy_named("sluice"), settings=Settings())
    first = record.decided()
    assert (first.undoes, first.executors) == ((None, 12) if undone else (HARM.decision, 14))
    assert record_from_data(json.loads(json.dumps(record.to_data()))).decided() == first


def test_a_situation_of_a_release_that_judged_no_rescales_is_read() -> None:
    data = json.loads(stored(steady()))
    del data["harms"]
    assert from_data(data) == compacted(steady())


def test_what_tasks_wait_for_is_stored_and_what_older_releases_stored_is_read() -> None:
    batching = Batching(overhead=0.5, fetching=Fetching(partitions=24, longest=0.5), cores=2)
    situation = compacted(replace(steady(), batching=batching))
    data = json.loads(stored(situation))
    assert from_data(data) == situation
    del data["batching"]["fetching"], data["batching"]["cores"]
    assert from_data(data).batching == Batching(overhead=0.5)
    data["batching"]["fetching"] = {"partitions": 0, "longest": 0.5}
    with pytest.raises(CorruptState):
        from_data(data)


def test_compacting_twice_changes_nothing() -> None:
    once = compacted(grown())
    assert compacted(once) == once


def test_a_stored_situation_is_a_few_kilobytes() -> None:
    assert len(stored(steady())) < 4_000
    assert len(stored(grown())) < 9_000


def test_thinned_history_keeps_the_newest_point_and_the_whole_span() -> None:
    thin = compacted(grown()).history
    assert len(thin) <= 240
    assert thin[-1][0] == 0.0
    assert thin[0][0] < -2860 * 60
    assert thinned(range(11), 4) == (1, 4, 7, 10)


def test_what_only_a_forecast_looks_back_to_is_not_stored() -> None:
    week = tuple((60.0 * (minute + 1 - 7 * 1440), 1000.0) for minute in range(7 * 1440))
    assert (
        compacted(steady(history=week)).history == compacted(steady(history=week[-2881:])).history
    )


def bursts(minute: int) -> Situation:
    """Two days of the same load, each six hours ten minutes of a much higher one, seen some minutes later."""
    minutes = range(minute - 2880, minute + 1)
    rates = {at: 300_000.0 if 100 <= at % 360 < 110 else 30_000.0 for at in minutes}
    return steady(
        30_000.0,
        6,
        at=AT + 60 * minute,
        history=tuple((60.0 * (at - minute), rate) for at, rate in rates.items()),
        wishes=wishes(4),
        live=False,
        since_rescale=1e5,
    )


def test_a_job_of_which_nothing_changes_is_decided_the_same_in_each_minute() -> None:
    decided = {decide(bursts(minute), policy_named("sluice")).executors for minute in range(60)}
    assert len(decided) == 1


def test_the_highest_load_of_two_days_is_remembered_and_when_it_came() -> None:
    for minute in range(60):
        high = [at for at, rate in compacted(bursts(minute)).history if rate == 300_000.0]
        assert [(at + 60 * minute) % 21_600 for at in high] == [6000.0] * 8


def test_what_is_kept_of_history_does_not_move_with_the_moment_of_the_decision() -> None:
    def kept(minute: int) -> list[tuple[float, float]]:
        now = 60.0 * minute
        known = ((at + now, rate) for at, rate in compacted(noisy(minute)).history)
        return [point for point in known if -40 * 3600 <= point[0] < -2 * 3600]

    assert len(kept(0)) == 38 * 60 / 24
    assert all(kept(minute) == kept(0) for minute in range(60))


def noisy(minute: int) -> Situation:
    """Two days until some minutes after the beginning of the year; what was measured stays as it was."""
    rates = {at: 1e5 * (1 + random.Random(at).random()) for at in range(minute - 2880, minute + 1)}
    return steady(
        at=AT + 60 * minute,
        history=tuple((60.0 * (at - minute), rounded(rate)) for at, rate in rates.items()),
    )


def test_the_last_hour_and_a_short_history_are_kept_as_they_are() -> None:
    long = noisy(0).history
    assert compacted(noisy(0)).history[-61:] == long[-61:]
    short = long[-181:]
    assert compacted(steady(history=short)).history == short


@given(
    st.lists(st.tuples(st.floats(-200_000, 0), st.floats(0, 1e6)), max_size=30),
    st.integers(1, 3000),
    st.floats(0, 4e9),
)
@example(odd=[(-13920.03125, 991.0)], minutes=113, at=0.0)
def test_compacting_any_history_twice_changes_nothing_and_loses_no_peak(
    odd: list[tuple[float, float]], minutes: int, at: float
) -> None:
    regular = [
        (-60.0 * minute, float(minute * 7919 % 1000)) for minute in range(120, 120 + minutes)
    ]
    situation = steady(at=at, history=tuple(sorted([*odd, *regular])))
    once = compacted(situation)
    assert compacted(once) == once
    assert len(once.history) <= 240
    highest = max(
        rounded(rate) for at, rate in situation.history if -OLDEST <= round(at, 1) < -3600
    )
    assert max(rate for at, rate in once.history if at < -3600) == highest


def test_what_a_job_was_seen_to_do_is_stored_with_a_decision() -> None:
    model = replace(MODELS.capacity, floors=((3, 70_000.04),))
    found = compacted(steady(models=replace(MODELS, capacity=model)))
    assert found.models.capacity.floors == ((3, 70_000.0),)


def test_the_capacity_of_a_size_that_is_seldom_used_is_not_forgotten() -> None:
    often = tuple((s, 16_000.0 * s) for s in range(3, 25) for _ in range(8))
    model = CapacityModel(points=((2, 31_000.0), *often))
    points = compacted(steady(models=replace(MODELS, capacity=model))).models.capacity.points
    assert (2, 31_000.0) in points
    assert len(points) < len(often)


def test_what_is_no_number_becomes_no_data() -> None:
    situation = steady()
    wild = replace(
        situation,
        observed=replace(situation.observed, arrival=float("nan"), lag=-1.0, cpu=float("inf")),
        history=((-60.0, float("nan")), (-30.0, -5.0), (0.0, 7.0), (60.0, 9.0)),
        forecast=replace(flat(1.0, horizon=120), rates=(float("nan"), 3.0)),
    )
    clean = compacted(wild)
    assert isinstance(clean.observed.arrival, NoData)
    assert isinstance(clean.observed.lag, NoData)
    assert isinstance(clean.observed.cpu, NoData)
    assert clean.history == ((0.0, 7.0),)
    assert not isinstance(clean.forecast, NoData)
    assert clean.forecast.rates == (3.0,)


@pytest.mark.parametrize(
    "broken",
    [
        None,
        {"kind": "Situation"},
        {"kind": "Situation", "version": 99},
        {**to_data(steady()), "bounds": [5, 1]},
        {**to_data(steady()), "forecast": {"times": [1]}},
        {**to_data(steady()), "observed": {"nonsense": 1.0}},
        {**to_data(steady()), "history": [[1, 2], [3]]},
    ],
)
def test_data_that_cannot_be_read_is_refused(broken: object) -> None:
    with pytest.raises(CorruptState):
        from_data(broken)


def changed(path: str, value: object) -> object:
    """A stored decision with another value in one place."""
    situation = steady(batching=Batching(fetching=Fetching(partitions=24, longest=0.5)))
    window = Window(start=time(1), end=time(2), days=frozenset({"Mon"}))
    settings = Settings(blackouts=(window,))
    record = Record(situation=situation, policy=Phoebe(downtime=60.0), settings=settings)
    data: Any = json.loads(json.dumps(record.to_data()))
    found, (*way, last) = data, [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        found = found[step]
    found[last] = value
    return data


NUMBERS = (
    "situation.at",
    "situation.executors",
    "situation.running",
    "situation.uptime",
    "situation.since_rescale",
    "situation.observed.age",
    "situation.targets.latency",
    "situation.targets.recovery",
    "situation.targets.throughput",
    "situation.batching.overhead",
    "situation.batching.shared",
    "situation.batching.period",
    "situation.batching.most_rows",
    "situation.batching.cores",
    "situation.batching.fetching.partitions",
    "situation.batching.fetching.longest",
    "situation.wishes.0.1",
    "settings.staleness",
    "settings.cooldown",
    "settings.max_step",
    "settings.grant",
    "settings.approved",
    "parameters.downtime",
)


@pytest.mark.parametrize("value", ["180s", -1, math.nan, [], True])
@pytest.mark.parametrize("path", NUMBERS)
def test_what_is_no_number_of_its_field_is_refused_with_the_field(path: str, value: object) -> None:
    with pytest.raises(CorruptState) as refused:
        record_from_data(changed(path, value))
    if "wishes" not in path:
        assert path.rpartition(".")[2] in str(refused.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("situation.at", 1e308),
        ("situation.bounds", [1, 1e9]),
        ("situation.bounds", [1.5, 3]),
        ("situation.executors", 0),
        ("situation.running", 1e308),
        ("situation.latency.profiled", [[10**300, 1.0, 1.0]]),
        ("situation.live", "no"),
        ("situation.mode", []),
        ("situation.batching.shared", 1e308),
        ("situation.batching.most_rows", 0),
        ("situation.batching.sinks", 1),
        ("settings.error_budget", "none"),
        ("settings.untold", 1),
        ("settings.blackouts.0.start", "01:00+01:00"),
        ("parameters", {"horizon": 0}),
        ("parameters", {"target": None}),
        ("parameters", {"bins": 2.5}),
        ("parameters", {"bins": 10_001}),
        ("parameters", {"aim": 1}),
    ],
)
def test_what_no_decision_can_be_made_of_is_refused(path: str, value: object) -> None:
    with pytest.raises(CorruptState):
        record_from_data(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("situation.observed.age", math.inf),
        ("situation.since_rescale", None),
        ("situation.targets.recovery", None),
        ("situation.batching.most_rows", 2**63 - 1),
        ("settings.error_budget", -3.5),
        ("parameters", {"bins": 5.0}),
    ],
)
def test_what_a_job_can_have_is_read(path: str, value: object) -> None:
    assert record_from_data(changed(path, value)).decided()


def test_an_explanation_shows_every_candidate_with_its_verdict() -> None:
    situation = steady(150_000, 14)
    decision = decide(situation, policy_named("sluice"))
    lines = explained(situation, decision)
    rows = lines[lines.index(HEADER) + 1 :]
    assert len(rows) == len(decision.candidates)
    assert sum(line.startswith("->") for line in rows) == 1
    assert f"from 14 to {decision.executors} executors, live" in lines[0]
    assert any("recovery" in line and "the goal is" in line for line in rows)


def test_an_explanation_names_the_guard_and_the_infeasible_target() -> None:
    situation = steady(150_000, 10, targets=Targets(recovery=50.0), live=False, since_rescale=5.0)
    lines = explained(situation, decide(situation, policy_named("sluice")))
    assert any("kept from it by cool-down: rescaled 5 s ago" in line for line in lines)
    assert any("smallest recovery target that can be kept" in line for line in lines)


@pytest.mark.parametrize(
    ("largest", "named"),
    [(4, None), (7, "5, 7"), (12, "5, 7, 8, 9, 10, 11"), (24, "5, 7, 8, 9, 10, 11, 13, 14, ...")],
)
def test_an_explanation_names_the_sizes_that_shorten_nothing(
    largest: int, named: str | None
) -> None:
    """Twelve tasks go in 12, 6, 4, 3, 3, 2, ... waves on 1, 2, 3, 4, 5, 6, ... executors."""
    capacity = replace(MODELS.capacity, slots=Slots(cores=1, tasks=12))
    situation = steady(
        bounds=Bounds(smallest=1, largest=largest),
        executors=1,
        models=replace(MODELS, capacity=capacity),
    )
    lines = explained(situation, decide(situation, policy_named("sluice")))
    told = [line for line in lines if line.startswith("left out")]
    reason = "for the 12 tasks of a stage go in as many waves on fewer"
    assert told == ([] if named is None else [f"left out: {named}, {reason}"])


def test_of_very_many_sizes_the_newest_are_kept() -> None:
    model = CapacityModel(points=tuple((size, 1000.0 * size) for size in range(1, 201)))
    once = compacted(steady(models=replace(MODELS, capacity=model)))
    assert [size for size, _ in once.models.capacity.points] == list(range(161, 201))
    assert compacted(once) == once
