"""Ask the API server for rights and Prometheus for what it knows; what the answers mean is decided elsewhere."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sluice.adapters.clock import SystemClock
from sluice.console.clocks import Reading
from sluice.console.cluster import Cluster, path_of
from sluice.console.doctor import measured, rights, working
from sluice.console.doctor.checks import Check, bad, fine, unknown
from sluice.console.doctor.rights import Right
from sluice.console.installation import Installation
from sluice.console.job import Job
from sluice.console.prometheus import Prometheus
from sluice.console.trouble import NotAllowed
from sluice.errors import MetricsUnavailable

_UNREACHABLE = "Is it up, is its address right, and may you use the proxy of its service?"


def rights_checks(
    cluster: Cluster, operators: Sequence[Installation], namespace: str
) -> Iterator[Check]:
    """The rights of each operator, and the person's own."""
    for one in operators:
        try:
            yield from _operator_checks(cluster, one)
        except NotAllowed as error:
            yield rights.unreviewed(error)
    needs = rights.OF_PEOPLE.items()
    missing = {name: missing_rights(cluster, needed, namespace) for name, needed in needs}
    yield rights.people_check(namespace, missing)


def _operator_checks(cluster: Cluster, one: Installation) -> Iterator[Check]:
    user = rights.account_of(one)
    for namespace in one.namespaces or (None,):
        missing = missing_rights(cluster, rights.WHERE_JOBS_ARE, namespace, user)
        yield rights.operator_check(one, namespace, missing, len(rights.WHERE_JOBS_ARE))
    missing = missing_rights(cluster, rights.AT_HOME, one.namespace, user)
    yield rights.operator_check(one, one.namespace, missing, len(rights.AT_HOME))
    if one.makes_namespaces:
        missing = missing_rights(cluster, rights.OF_COPIES, None, user)
        yield rights.operator_check(one, None, missing, len(rights.OF_COPIES))
    if one.watches_nodes:
        missing = missing_rights(cluster, rights.OF_NODES, None, user)
        yield rights.operator_check(one, None, missing, len(rights.OF_NODES))


def missing_rights(
    cluster: Cluster, needed: Iterable[Right], namespace: str | None, user: str | None = None
) -> list[Right]:
    """Those that a user, or the person, has not."""
    path = path_of(rights.OWN_ACCESS_REVIEWS if user is None else rights.ACCESS_REVIEWS, None)
    answers = ((one, cluster.post(path, rights.review(one, namespace, user))) for one in needed)
    return [one for one, answer in answers if not rights.is_allowed(answer)]


def metrics_checks(prometheus: Prometheus, jobs: Sequence[Job], version: str) -> Iterator[Check]:
    """What a Prometheus knows of rules, operators and drivers."""
    try:
        yield _clock(prometheus)
    except MetricsUnavailable as error:
        yield bad("Prometheus", str(error), _UNREACHABLE)
        return
    yield fine("Prometheus", f"answers at {prometheus.source}")
    ask = prometheus.now
    yield _asked("Rules", lambda: measured.rules_check(prometheus.rules()))
    yield _asked("Operator scraped", lambda: measured.operators_check(ask(measured.LEADERS)))
    yield _asked(
        "Drivers scraped",
        lambda: measured.drivers_check(jobs, ask(measured.AGENTS), _targets(prometheus)),
    )
    yield _asked("Agents", lambda: measured.agents_check(ask(measured.AGENTS), version))


def _clock(prometheus: Prometheus) -> Check:
    ours = SystemClock()
    before = ours.now()
    shown = prometheus.clock()
    reading = Reading(shown=shown, before=before, after=ours.now(), resolution=timedelta(0))
    return working.clock_check("Clock", "Prometheus", reading)


def _targets(prometheus: Prometheus) -> list[Mapping[str, Any]]:
    """What is scraped; servers that only store do not know."""
    try:
        return list(prometheus.targets())
    except MetricsUnavailable:
        return []


def _asked(subject: str, examine: Callable[[], Check]) -> Check:
    try:
        return examine()
    except MetricsUnavailable as error:
        return unknown(subject, str(error))
