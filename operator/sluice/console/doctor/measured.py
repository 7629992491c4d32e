"""Does Prometheus know what it should: our rules, the operators, each driver that runs, agents of this version?"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice.console.doctor.checks import Check, bad, fine, odd, unknown
from sluice.console.job import Job
from sluice.console.slo import RECORDED
from sluice.console.trends import Key
from sluice.core.conditions import Condition
from sluice.manifests import names
from sluice.ports import Labelled

AGENTS = "sluice_agent_info"
LEADERS = "sluice_operator_leader"

_MOST_TOLD = 3

_ONCE = (
    "Their numbers count as often: let Prometheus follow either podMonitor.enabled or the annotation "
    'prometheus.io/scrape, which spec.application.driver.template may set to "false"; of several replicas of '
    "Prometheus, ask one"
)


def rules_check(rules: Sequence[Mapping[str, Any]]) -> Check:
    """Whether the recording rules are loaded, and can be evaluated."""
    loaded = {rule["name"]: rule for rule in rules}
    missing = [name for name in RECORDED if name not in loaded]
    if missing:
        told = f"recording rules are not loaded: {', '.join(missing)}"
        return bad(
            "Rules", told, "Set prometheusRule.enabled in the chart, or load charts/sluice/rules"
        )
    for rule in rules:
        if rule["name"].startswith("job:sluice_") and rule.get("health") == "err":
            told = f"{rule['name']} cannot be evaluated: {rule.get('lastError')}"
            return bad(
                "Rules", told, "Take the rules of this version, charts/sluice/rules, unchanged"
            )
    return fine("Rules", "the recording rules are loaded and evaluated")


def operators_check(leaders: Sequence[Labelled]) -> Check:
    """Whether the operator's own metrics come in."""
    if not leaders:
        remedy = "Set podMonitor.enabled in the chart, or scrape port `metrics` of its pods"
        return odd("Operator scraped", "Prometheus has no metrics of the operator", remedy)
    leading = sum(1 for one in leaders if one.samples[-1][1] == 1)
    return fine("Operator scraped", f"{len(leaders)} processes, {leading} of which lead")


def drivers_check(
    jobs: Sequence[Job], agents: Sequence[Labelled], targets: Sequence[Mapping[str, Any]]
) -> Check:
    """Whether each driver that runs is scraped; a target that is down says why it is not."""
    running = [job.key for job in jobs if _runs(job)]
    missing = [key for key in running if key not in _known(agents)]
    if not running:
        return unknown("Drivers scraped", "no driver runs")
    twice = _told_twice(agents)
    if twice:
        return bad("Drivers scraped", _several(twice, len(running), "are scraped twice"), _ONCE)
    if not missing:
        return fine("Drivers scraped", f"all {len(running)} that run")
    told = _several(missing, len(running), "are not") + _why(missing[0], targets)
    remedy = (
        f"Set podMonitor.enabled in the chart, or scrape port {names.AGENT_PORT} of pods with "
        f"{names.ROLE_LABEL}={names.DRIVER}, honouring their labels; may Prometheus connect there?"
    )
    return bad("Drivers scraped", told, remedy)


def agents_check(agents: Sequence[Labelled], version: str) -> Check:
    """Whether the drivers were started with the agent of this operator's version."""
    if not agents:
        return unknown("Agents", "Prometheus knows of none")
    others = sorted(
        f"{'/'.join(key)} {one.labels.get('version')}"
        for one in agents
        if one.labels.get("version") != version and (key := _key(one))
    )
    if not others:
        return fine("Agents", f"all {len(agents)} are {version}, as the operator")
    told = f"{len(others)} are not {version}: {', '.join(others[:_MOST_TOLD])}"
    remedy = (
        "They change with the next start of each driver: kubectl sluice restart JOB -n NAMESPACE"
    )
    return odd("Agents", told, remedy)


def _runs(job: Job) -> bool:
    return any(one.type == Condition.DRIVER_RUNNING and one.is_true for one in job.conditions)


def _told_twice(agents: Sequence[Labelled]) -> list[Key]:
    """Jobs of which one driver is several series: numbers that are added up over queries count it as often."""
    drivers = Counter((_key(one), one.labels.get("incarnation")) for one in agents)
    return sorted({key for (key, _), count in drivers.items() if count > 1})


def _several(keys: Sequence[Key], of: int, told: str) -> str:
    named = ", ".join("/".join(key) for key in keys[:_MOST_TOLD])
    return f"{len(keys)} of {of} {told}: {named}"


def _known(agents: Sequence[Labelled]) -> set[Key]:
    return {_key(one) for one in agents}


def _key(one: Labelled) -> Key:
    return one.labels.get("namespace", ""), one.labels.get("job", "")


def _why(key: Key, targets: Sequence[Mapping[str, Any]]) -> str:
    """What Prometheus says of a driver's target, if it has one."""
    return next((f" ({told})" for told in _complaints(key, targets)), "")


def _complaints(key: Key, targets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    namespace, name = key
    for target in targets:
        labels = target.get("labels", {})
        is_driver = labels.get("pod") == names.driver_pod(name)
        if is_driver and labels.get("namespace") == namespace and target.get("lastError"):
            yield str(target["lastError"])
