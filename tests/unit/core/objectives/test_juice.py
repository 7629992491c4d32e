"""The acceptance examples of Henge's juice, with the paper's numbers where it gives any."""

import functools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.objectives.juice import Flow, graph_juice, query_juice
from sluice.core.series import NoData

UNTOLD = NoData("files have no offsets")

FORK = {("s", "A"): 10.0, ("A", "B"): 8.0, ("A", "C"): 6.0}
JOIN = {**FORK, ("B", "D"): 8.0, ("C", "D"): 6.0}


def number(found: float | NoData) -> float:
    assert not isinstance(found, NoData)
    return found


def test_a_fork_with_and_without_a_join() -> None:
    """Figure 1: C executes 6 of the 8 thousand that A sent it."""
    sent = {"s": 10.0, "A": 16.0, "B": 8.0, "C": 6.0}
    assert number(graph_juice(sent, JOIN, ["s"])) == pytest.approx(0.875)
    assert number(graph_juice(sent, FORK, ["s"])) == pytest.approx(0.875)


def test_two_sources() -> None:
    """Figure 5: what spout 2 sends reaches the sinks on two ways."""
    sent = {"s1": 10.0, "s2": 10.0, "A": 5.0, "D": 10.0, "E": 10.0, "B": 10.0, "F": 4.0}
    executed = {
        ("s1", "A"): 5.0,
        ("s2", "D"): 10.0,
        ("D", "E"): 5.0,
        ("E", "B"): 5.0,
        ("E", "F"): 4.0,
        ("A", "B"): 5.0,
        ("B", "C"): 10.0,
    }
    assert number(graph_juice(sent, executed, ["s1", "s2"])) == pytest.approx((0.75 + 0.2) / 2)


def test_a_filter_does_not_lower_juice() -> None:
    executed = {("s", "F"): 1000.0, ("F", "sink"): 100.0}
    assert graph_juice({"s": 1000.0, "F": 100.0}, executed, ["s"]) == 1.0


def test_losses_behind_an_expansion_count_by_what_was_sent() -> None:
    executed = {("s", "A"): 100.0, ("A", "sink"): 800.0}
    assert graph_juice({"s": 100.0, "A": 1600.0}, executed, ["s"]) == 0.5


def test_a_broadcast_counts_each_copy() -> None:
    executed = {("s", "A"): 100.0, ("A", "B"): 100.0, ("A", "C"): 100.0}
    assert graph_juice({"s": 100.0, "A": 200.0}, executed, ["s"]) == 1.0


def test_a_chain_multiplies_its_losses() -> None:
    executed = {("s", "A"): 90.0, ("A", "B"): 81.0, ("B", "C"): 72.9}
    sent = {"s": 100.0, "A": 90.0, "B": 81.0}
    assert number(graph_juice(sent, executed, ["s"])) == pytest.approx(0.729)


def test_a_parent_that_sent_nothing_leaves_its_children_their_shares() -> None:
    executed = {("s", "A"): 10.0, ("A", "B"): 0.0, ("A", "C"): 0.0}
    assert graph_juice({"s": 10.0, "A": 0.0}, executed, ["s"]) == 1.0


def test_a_parent_that_told_nothing_leaves_juice_unknown() -> None:
    assert isinstance(graph_juice({"s": 10.0}, FORK, ["s"]), NoData)


@given(st.floats(0.001, 1000))
def test_juice_does_not_depend_on_the_rate(scale: float) -> None:
    sent = {"s": 10.0 * scale, "A": 16.0 * scale, "B": 8.0 * scale, "C": 6.0 * scale}
    executed = {edge: rows * scale for edge, rows in JOIN.items()}
    assert number(graph_juice(sent, executed, ["s"])) == pytest.approx(0.875)


@pytest.mark.parametrize(
    ("flow", "juice"),
    [
        (Flow(arrived=1000, processed=992, backlog=8.0), 0.992),
        (Flow(arrived=1000, processed=1200, backlog=0.0), 1.2),
        (Flow(arrived=0, processed=0, backlog=0.0), 1.0),
        (Flow(arrived=0, processed=50, backlog=10.0), 1.0),
        (Flow(arrived=0, processed=0, backlog=10.0), 0.0),
    ],
    ids=["behind", "drains", "idle", "drains in silence", "stuck"],
)
def test_juice_of_one_source(flow: Flow, juice: float) -> None:
    assert query_juice([flow]) == juice


def test_juice_of_a_query_is_the_mean_of_its_sources() -> None:
    half, whole = (
        Flow(arrived=10, processed=5, backlog=5.0),
        Flow(arrived=90, processed=90, backlog=0.0),
    )
    assert query_juice([half, whole]) == 0.75


def test_juice_is_unknown_where_one_source_is() -> None:
    silent = Flow(arrived=0, processed=0, backlog=UNTOLD)
    assert isinstance(query_juice([silent, Flow(arrived=9, processed=9, backlog=0.0)]), NoData)
    assert isinstance(query_juice([]), NoData)


def test_juice_of_a_window_is_the_ratio_of_its_sums() -> None:
    window = Flow(arrived=100, processed=100, backlog=0.0) + Flow(
        arrived=900, processed=450, backlog=450.0
    )
    assert query_juice([window]) == 0.55


flows = st.builds(
    Flow, arrived=st.integers(0, 1000), processed=st.integers(0, 1000), backlog=st.just(1.0)
)


@given(st.lists(flows, min_size=1, max_size=8), st.integers(0, 8))
def test_windows_one_after_the_other_are_the_whole_window(parts: list[Flow], cut: int) -> None:
    def whole(some: list[Flow]) -> Flow:
        return functools.reduce(operator.add, some)

    halves = [half for half in (parts[:cut], parts[cut:]) if half]
    assert whole([whole(half) for half in halves]) == whole(parts)
