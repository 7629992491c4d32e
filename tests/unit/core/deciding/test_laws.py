"""What holds for every policy and every situation, however odd."""

import math
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Policy
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies.named import POLICIES, policy_named
from sluice.core.deciding.policies.phoebe import Phoebe
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.policies.static import Static
from sluice.core.deciding.situation import (
    Activity,
    Batching,
    Bounds,
    Forecast,
    Mode,
    Models,
    Observations,
    Situation,
    Targets,
    Wish,
)
from sluice.core.modelling.capacity import CapacityModel
from sluice.core.modelling.downtime import Cause, Downtimes
from sluice.core.modelling.fetching import Fetching
from sluice.core.modelling.latency import LatencyModel, LatencyPoint
from sluice.core.modelling.shapes import Slots
from sluice.core.series import Measured, NoData
from tests.unit.core.deciding.situations import MODELS, steady, wishes

MISSING = NoData("missing")

wild = st.one_of(
    st.just(MISSING),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -1.0, 1e-9, 1.0, 1e5, 1e12]),
)
times = st.floats(-200_000, 2_000)
rates = st.one_of(st.floats(0, 1e6), st.sampled_from([math.nan, math.inf, -1.0, 0.0, 1e9]))
spans = st.one_of(st.floats(0, 1e6), st.sampled_from([0.0, 30.0, 600.0]))


@st.composite
def forecasts(draw: st.DrawFn) -> Forecast | NoData:
    if draw(st.booleans()):
        return MISSING
    numbers = sorted(draw(st.lists(st.floats(0, 5_000), min_size=1, max_size=20)))
    middle = [draw(rates) for _ in numbers]
    return Forecast(
        times=tuple(numbers),
        rates=tuple(middle),
        low=tuple(rate * 0.9 for rate in middle),
        high=tuple(rate * 1.1 for rate in middle),
        model="drawn",
    )


QUIET = Fetching(partitions=200, longest=0.5)


@st.composite
def models(draw: st.DrawFn) -> Models:
    sizes = st.integers(1, 40)
    capacity = CapacityModel(
        slots=Slots(cores=draw(st.integers(1, 4)), tasks=draw(st.one_of(st.none(), sizes)))
    )
    for executors, rate in draw(st.lists(st.tuples(sizes, st.floats(1, 1e6)), max_size=6)):
        capacity = capacity.with_observation(executors, rate)
    latency = LatencyModel()
    for executors, rate, seconds in draw(
        st.lists(st.tuples(sizes, st.floats(0, 1e6), st.floats(0, 100)), max_size=6)
    ):
        latency = latency.with_observation(
            LatencyPoint(executors=executors, rate=rate, seconds=seconds)
        )
    downtimes = Downtimes()
    for cause, seconds in draw(
        st.lists(st.tuples(st.sampled_from(list(Cause)), st.floats(0, 500)), max_size=4)
    ):
        downtimes = downtimes.with_observation(cause, seconds)
    return Models(capacity=capacity, latency=latency, downtimes=downtimes)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    smallest = draw(st.integers(1, 12))
    bounds = Bounds(smallest=smallest, largest=smallest + draw(st.integers(0, 30)))
    targets = st.one_of(st.none(), st.floats(0.001, 1e4))
    return Situation(
        at=draw(st.floats(0, 4e9)),
        bounds=bounds,
        executors=draw(st.integers(bounds.smallest, bounds.largest)),
        running=draw(st.integers(0, bounds.largest)),
        observed=Observations(
            **{name: draw(wild) for name in ("arrival", "processing", "lag", "latency")},
            **{name: draw(wild) for name in ("cpu", "busy", "commit_age", "batch")},
            age=draw(spans),
        ),
        history=tuple(sorted(draw(st.lists(st.tuples(times, rates), max_size=30)))),
        forecast=draw(forecasts()),
        models=draw(models()),
        targets=Targets(latency=draw(targets), recovery=draw(targets)),
        batching=Batching(
            overhead=draw(st.sampled_from([0.0, 0.4, 30.0])),
            shared=draw(st.sampled_from([0.0, 0.0, 5.0, 90.0])),
            period=draw(st.sampled_from([0.0, 10.0])),
            most_rows=draw(st.sampled_from([None, 1.0, 1e6])),
            fetching=draw(st.sampled_from([None, None, QUIET, replace(QUIET, longest=0.0)])),
            cores=draw(st.integers(1, 4)),
        ),
        activity=draw(st.sampled_from(list(Activity))),
        mode=draw(st.sampled_from(list(Mode))),
        uptime=draw(spans),
        since_rescale=draw(st.one_of(st.none(), spans, st.just(-50.0))),
        live=draw(st.booleans()),
        wishes=tuple(
            Wish(at=at, executors=executors)
            for at, executors in sorted(
                draw(st.lists(st.tuples(st.floats(-9000, 500), st.integers(1, 50)), max_size=6))
            )
        ),
    )


policies = st.sampled_from([policy_named(name) for name in POLICIES])
guarding = st.builds(
    Settings,
    max_step=st.one_of(st.none(), st.integers(1, 5)),
    grant=st.one_of(st.none(), st.integers(0, 50)),
    error_budget=st.one_of(st.none(), st.floats(-10, 10)),
)


@given(situations(), policies, guarding)
@settings(max_examples=150, deadline=None)
def test_no_situation_raises_or_leads_outside_the_bounds(
    situation: Situation, policy: Policy, guards: Settings
) -> None:
    decision = decide(situation, policy, guards)
    for executors in (decision.wanted, decision.executors):
        assert situation.bounds.smallest <= executors <= situation.bounds.largest
    assert decision.reason


@given(situations(), policies)
@settings(max_examples=150, deadline=None)
def test_the_same_situation_gives_the_same_decision(situation: Situation, policy: Policy) -> None:
    assert decide(situation, policy) == decide(situation, policy)


@given(situations(), policies)
@settings(max_examples=100, deadline=None)
def test_unknown_load_or_old_numbers_never_shrink_a_job(
    situation: Situation, policy: Policy
) -> None:
    blind = replace(situation, observed=replace(situation.observed, arrival=math.nan))
    assert decide(blind, policy).executors >= situation.executors
    old = replace(situation, observed=replace(situation.observed, age=1e5))
    assert decide(old, policy).executors == situation.executors


@given(
    situations(),
    st.sampled_from(["arrival", "processing", "lag", "latency", "cpu", "busy", "batch"]),
)
@settings(max_examples=100, deadline=None)
def test_a_number_that_goes_missing_never_makes_ours_shrink_further(
    situation: Situation, missing: str
) -> None:
    known = decide(situation, Sluice()).executors
    blind = replace(situation.observed, **{missing: MISSING})  # type: ignore[arg-type]  # a name above
    unknown = decide(replace(situation, observed=blind), Sluice()).executors
    assert unknown >= min(known, situation.executors)


def with_load(situation: Situation, factor: float) -> Situation:
    """The same situation with so many times the load, now, before and later."""

    def scaled(number: Measured) -> Measured:
        return number if isinstance(number, NoData) else number * factor

    forecast = situation.forecast
    if isinstance(forecast, Forecast):
        forecast = replace(
            forecast,
            rates=tuple(rate * factor for rate in forecast.rates),
            low=tuple(rate * factor for rate in forecast.low),
            high=tuple(rate * factor for rate in forecast.high),
        )
    return replace(
        situation,
        observed=replace(situation.observed, arrival=scaled(situation.observed.arrival)),
        history=tuple((at, rate * factor) for at, rate in situation.history),
        forecast=forecast,
    )


LIMITS = st.one_of(st.none(), st.floats(1e3, 1e7))


@st.composite
def profiled(draw: st.DrawFn) -> Situation:
    """A job whose capacity is known, under any load that is a number."""
    numbers = st.floats(0, 5e5)
    situation = replace(
        draw(situations()), models=MODELS, bounds=Bounds(smallest=1, largest=24), mode=Mode.AUTO
    )
    return replace(
        situation,
        executors=min(situation.executors, 24),
        running=min(situation.running, 24),
        observed=replace(steady(draw(numbers), 5).observed, lag=draw(st.floats(0, 1e7))),
        history=tuple((-60.0 * age, draw(numbers)) for age in range(5, -1, -1)),
        activity=Activity.STEADY,
        since_rescale=None,
        uptime=1e6,
        # Where tasks wait for rows, fewer executors may keep a latency if more come.
        batching=replace(situation.batching, most_rows=draw(LIMITS), fetching=None),
    )


SHARED = steady(
    1.0,
    1,
    running=0,
    bounds=Bounds(smallest=1, largest=24),
    forecast=MISSING,
    targets=Targets(latency=1.0),
    batching=Batching(shared=5.0),
    uptime=1e6,
    live=False,
)
"""Ten executors keep this bound to the second: twice the load must not round the other way."""


@pytest.mark.parametrize(
    "policy",
    [Sluice(), Sluice(objective=0.999), Phoebe(), Phoebe(hysteresis=0)],
    ids=["sluice", "strict", "phoebe", "as printed"],
)
@given(situation=profiled(), factor=st.floats(1, 20))
@example(situation=SHARED, factor=2.0)
@settings(max_examples=100, deadline=None)
def test_more_load_never_means_fewer_executors(
    policy: Policy, situation: Situation, factor: float
) -> None:
    less, more = decide(situation, policy), decide(with_load(situation, factor), policy)
    assert more.wanted >= less.wanted
    assert more.executors >= less.executors


@given(st.floats(0, 4e5), st.floats(10, 400), st.floats(1, 4))
@settings(max_examples=100, deadline=None)
def test_a_shorter_recovery_target_never_means_fewer_executors(
    rate: float, target: float, factor: float
) -> None:
    def wanted(seconds: float) -> int:
        return Sluice()(steady(rate, 2, targets=Targets(recovery=seconds))).executors

    assert wanted(target) >= wanted(target * factor)


@given(st.floats(0, 2e5), st.booleans(), st.floats(0.5, 0.9999), st.floats(0.5, 0.9999))
@settings(max_examples=100, deadline=None)
def test_a_smaller_error_budget_never_means_fewer_executors(
    rate: float, live: bool, one: float, other: float
) -> None:
    situation = steady(rate, 12, live=live, wishes=wishes(2))
    lax, strict = (Sluice(objective=share) for share in sorted((one, other)))
    assert decide(situation, strict).executors >= decide(situation, lax).executors


@given(st.floats(1, 1e6), st.floats(1, 1000))
@settings(max_examples=100, deadline=None)
def test_a_spike_of_a_moment_does_not_grow_a_job(rate: float, height: float) -> None:
    calm = steady(rate, 12)
    spike = replace(calm.observed, arrival=rate * (1 + height))
    assert Sluice()(replace(calm, observed=spike)).executors == Sluice()(calm).executors


def test_a_clock_that_steps_back_changes_nothing() -> None:
    situation = steady(30_000, 10)
    stepped = replace(
        situation,
        since_rescale=-3600.0,
        wishes=tuple(replace(wish, at=wish.at + 7200) for wish in situation.wishes),
        history=tuple((at + 7200, rate) for at, rate in situation.history),
    )
    assert decide(stepped, Sluice()).executors == 10


def test_the_policies_of_the_laws_are_all_there_are() -> None:
    assert len(POLICIES) == 9
    assert isinstance(policy_named("static"), Static)
