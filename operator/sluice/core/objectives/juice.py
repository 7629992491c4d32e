"""Juice: the share of the arriving input that is processed per unit of time, whatever the rate.

Kalim et al., Henge: Intent-driven Multi-Tenant Stream Processing (SoCC 2018), equations 5 and 6. Juice sees the change
of a backlog and not its size, so it belongs beside the lag. Values above 1 are backlogs that drain; they stay as
they are.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from sluice.core.series import Measured, NoData


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What happened at one source of a query between two batch boundaries, in rows.

    Taken from offsets on both sides: `numInputRows` counts a source that is read twice two times.
    """

    arrived: float
    processed: float
    backlog: Measured

    def __add__(self, later: "Flow") -> "Flow":
        """The flow of both stretches of time: sums, because a mean of ratios would count quiet times double."""
        return Flow(
            arrived=self.arrived + later.arrived,
            processed=self.processed + later.processed,
            backlog=later.backlog,
        )


def query_juice(flows: Sequence[Flow]) -> Measured:
    """The mean over the sources of one query."""
    ratios = [_ratio(flow) for flow in flows]
    known = [ratio for ratio in ratios if not isinstance(ratio, NoData)]
    if not known or len(known) < len(ratios):
        return NoData("it is not known of every source what arrived")
    return sum(known) / len(known)


def _ratio(flow: Flow) -> Measured:
    if flow.arrived > 0:
        return flow.processed / flow.arrived
    if flow.processed > 0 or flow.backlog == 0.0:
        return 1.0
    return flow.backlog if isinstance(flow.backlog, NoData) else 0.0


def graph_juice(
    sent: Mapping[str, float], executed: Mapping[tuple[str, str], float], sources: Sequence[str]
) -> Measured:
    """Juice of operators, or of jobs joined by topics, that pass rows on (equations 5 and 6).

    `sent` is what each sent to all its children together, `executed` what a child (second) executed of what its
    parent (first) sent. All rows weigh the same.
    """
    parents, children = _relatives(executed)
    share: dict[str, dict[str, float]] = {source: {source: 1.0} for source in sources}
    for node in TopologicalSorter(parents).static_order():
        if node in share:
            continue
        reached: dict[str, float] = defaultdict(float)
        for parent in parents[node]:
            if parent not in sent:
                return NoData(f"{parent} has not told what it sent")
            ratio = _passed(sent[parent], executed[parent, node], len(children[parent]))
            for source, part in share[parent].items():
                reached[source] += part * ratio
        share[node] = reached
    sinks = [node for node in share if not children[node]]
    return sum(sum(share[sink].values()) for sink in sinks) / len(sources)


def _passed(sent: float, executed: float, children: int) -> float:
    # A parent that sent nothing keeps no child waiting: the children's shares still add up to 1.
    return executed / sent if sent else 1 / children


def _relatives(
    executed: Mapping[tuple[str, str], float],
) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    parents: dict[str, list[str]] = defaultdict(list)
    children: dict[str, list[str]] = defaultdict(list)
    for parent, child in executed:
        parents[child].append(parent)
        children[parent].append(child)
    return parents, children
