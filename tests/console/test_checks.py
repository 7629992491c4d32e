"""What the doctor makes of what it finds, case by case."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice import __version__
from sluice.api import crds
from sluice.console.clocks import Reading
from sluice.console.doctor import installed, measured, report, rights, working
from sluice.console.doctor.checks import Check, Verdict, bad, fine, odd
from sluice.console.installation import Installation, installation
from sluice.console.job import Job
from sluice.console.slo import RECORDED
from sluice.console.trouble import Exit
from sluice.ports import Labelled
from tests.console import resources
from tests.support.helm import find_helm
from tests.support.jobs import NOW

Json = dict[str, Any]

OPERATOR = Installation(
    namespace="ops",
    name="sluice",
    account="sluice",
    version=__version__,
    image="registry.example.com/sluice-operator:dev",
    ready=1,
    replicas=1,
    namespaces=("shop",),
)


def crd(**changes: Any) -> Json:
    """Our CRD as the API server gives it: with defaults of its own, and served."""
    body = copy.deepcopy(crds.crd(crds.STREAM_JOB))
    body["spec"]["conversion"] = {"strategy": "None"}
    body["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    return {**body, **changes}


def older_crd() -> Json:
    """A CRD of a version that did not know spec.suspend."""
    body = crd()
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["suspend"]
    return body


def other_crd() -> Json:
    """A CRD without our version."""
    body = crd()
    body["spec"]["versions"][0]["name"] = "v9"
    return body


@pytest.mark.parametrize(
    ("found", "verdict", "says"),
    [
        (crd(), Verdict.FINE, f"is that of version {__version__}"),
        (None, Verdict.BAD, "not installed"),
        (crd(status={}), Verdict.BAD, "does not serve"),
        (older_crd(), Verdict.BAD, "spec.properties.suspend"),
        (other_crd(), Verdict.BAD, "has no version v1alpha1"),
    ],
)
def test_the_crd_must_be_that_of_this_version(
    found: Json | None, verdict: Verdict, says: str
) -> None:
    check = installed.crd_check(crds.STREAM_JOB, found)
    assert check.verdict is verdict
    assert says in check.found
    assert check.verdict is Verdict.FINE or "kubectl apply --server-side" in check.remedy


def checks(*operators: Installation) -> list[tuple[Verdict, str]]:
    """What is said of operators, without what is fine."""
    made = installed.operator_checks(operators)
    return [(one.verdict, one.found) for one in made if one.verdict is not Verdict.FINE]


@pytest.mark.parametrize(
    ("operators", "told"),
    [
        ([OPERATOR], []),
        ([], [(Verdict.BAD, "no Deployment")]),
        ([replace(OPERATOR, ready=0)], [(Verdict.BAD, "0 of 1 pods")]),
        ([replace(OPERATOR, replicas=0, ready=0)], [(Verdict.BAD, "0 of 0 pods")]),
        ([replace(OPERATOR, replicas=2)], [(Verdict.ODD, "1 of 2 pods")]),
        ([replace(OPERATOR, version="9.9.9")], [(Verdict.ODD, "ops/sluice is 9.9.9")]),
        ([OPERATOR, replace(OPERATOR, namespace="ops-2", namespaces=("test",))], []),
        (
            [OPERATOR, replace(OPERATOR, namespace="ops-2")],
            [(Verdict.BAD, "both look after shop")],
        ),
        (
            [OPERATOR, replace(OPERATOR, namespace="ops-2", namespaces=())],
            [(Verdict.BAD, "both look after shop")],
        ),
    ],
)
def test_operators_are_ready_of_this_version_and_alone(
    operators: Sequence[Installation], told: list[tuple[Verdict, str]]
) -> None:
    found = checks(*operators)
    assert [verdict for verdict, _ in found] == [verdict for verdict, _ in told]
    for (_, text), (_, part) in zip(found, told, strict=True):
        assert part in text


def lease(holder: str = "sluice-0", **age: float) -> Json:
    """A Lease that was renewed then."""
    renewed = resources.ago(**age)
    return {"spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}}


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (lease(seconds=3), Verdict.FINE),
        (lease(seconds=16), Verdict.BAD),
        (lease(holder="", seconds=3), Verdict.BAD),
        (None, Verdict.BAD),
    ],
)
def test_somebody_must_lead_by_a_lease_that_has_not_run_out(
    found: Json | None, verdict: Verdict
) -> None:
    check = installed.lease_check(OPERATOR, found, NOW)
    assert check.verdict is verdict
    assert check.verdict is Verdict.FINE or check.remedy == "kubectl logs deploy/sluice -n ops"


def test_missing_rights_are_named_and_counted() -> None:
    check = rights.operator_check(OPERATOR, "shop", rights.WHERE_JOBS_ARE[:6], 26)
    assert check.verdict is Verdict.BAD
    assert "get streamjobs, list streamjobs" in check.found
    assert "and 2 more in shop" in check.found
    assert rights.operator_check(OPERATOR, "shop", [], 26).verdict is Verdict.FINE


def test_a_person_is_told_which_command_lacks_which_right() -> None:
    (logs,) = (one for one in rights.OF_PEOPLE["logs"] if one.resource == "pods/log")
    check = rights.people_check("shop", {"status": [], "logs": [logs]})
    assert check.verdict is Verdict.ODD
    assert "logs needs get pods/log" in check.found
    assert "`view`" in check.remedy


def test_a_review_asks_for_the_subresource_and_the_account() -> None:
    right = rights.Right("get", "", "pods/log")
    spec = rights.review(right, "shop", rights.account_of(OPERATOR))["spec"]
    assert spec["user"] == "system:serviceaccount:ops:sluice"
    assert spec["resourceAttributes"] == {
        "verb": "get",
        "resource": "pods",
        "subresource": "log",
        "namespace": "shop",
    }
    assert rights.review(right, "shop")["kind"] == "SelfSubjectAccessReview"


@pytest.mark.parametrize(
    ("listed", "role"), [(rights.WHERE_JOBS_ARE, "sluice"), (rights.AT_HOME, "sluice-home")]
)
def test_the_rights_that_are_examined_are_those_that_the_chart_grants(
    listed: Sequence[rights.Right], role: str
) -> None:
    from tests.support.helm import Helm, of_kind

    program = find_helm()
    if program is None:
        pytest.skip("helm is not installed; `make cluster` builds it")
    rendered = Helm(program).render('watchNamespaces=["shop"]')
    (body,) = (one for (_, name), one in of_kind(rendered, "Role").items() if name == role)
    granted = {
        rights.Right(verb, group, resource, name)
        for rule in body["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    assert set(listed) == granted


@pytest.mark.parametrize(
    ("values", "makes"),
    [((), True), (("makeNamespaces=false",), False), (('watchNamespaces=["shop"]',), False)],
)
def test_an_operator_makes_namespaces_where_it_looks_after_all_and_is_to(
    values: tuple[str, ...], makes: bool
) -> None:
    from tests.support.helm import Helm, of_kind

    program = find_helm()
    if program is None:
        pytest.skip("helm is not installed; `make cluster` builds it")
    (body,) = of_kind(Helm(program).render(*values), "Deployment").values()
    assert installation(body).makes_namespaces is makes


def test_what_copies_take_is_what_the_chart_grants_in_the_whole_cluster() -> None:
    from tests.support.helm import Helm, of_kind

    program = find_helm()
    if program is None:
        pytest.skip("helm is not installed; `make cluster` builds it")
    roles = of_kind(Helm(program).render("watchNodes=false"), "ClusterRole")
    (body,) = (one for (_, name), one in roles.items() if not name.endswith(("-edit", "-view")))
    granted = {
        rights.Right(verb, group, resource)
        for rule in body["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted - set(rights.WHERE_JOBS_ARE) == set(rights.OF_COPIES)


def series(value: float = 1.0, **labels: str) -> Labelled:
    """A series with one sample."""
    return Labelled(labels, ((NOW, value),))


LOADED = [{"name": name, "health": "ok"} for name in RECORDED]


@pytest.mark.parametrize(
    ("rules", "verdict", "says"),
    [
        (LOADED, Verdict.FINE, "loaded"),
        ([], Verdict.BAD, RECORDED[0]),
        (LOADED[1:], Verdict.BAD, RECORDED[0]),
        (
            [{**LOADED[0], "health": "err", "lastError": "many-to-many"}, *LOADED[1:]],
            Verdict.BAD,
            "many-to-many",
        ),
        ([*LOADED, {"name": "other", "health": "err"}], Verdict.FINE, "loaded"),
    ],
)
def test_our_rules_must_be_loaded_and_evaluated(
    rules: list[Json], verdict: Verdict, says: str
) -> None:
    check = measured.rules_check(rules)
    assert check.verdict is verdict
    assert says in check.found


AGENT = series(namespace="shop", job="clicks", version="0.1.0", incarnation="2")
OTHER = series(namespace="shop", job="clicks", version="0.1.0", incarnation="3")
DOWN = {
    "labels": {"namespace": "shop", "pod": "clicks-driver"},
    "lastError": "connection refused",
}


@pytest.mark.parametrize(
    ("bodies", "agents", "targets", "verdict", "says"),
    [
        ([resources.healthy()], [AGENT], [], Verdict.FINE, "all 1"),
        ([resources.healthy()], [], [], Verdict.BAD, "1 of 1 are not: shop/clicks"),
        ([resources.healthy()], [], [DOWN], Verdict.BAD, "(connection refused)"),
        ([resources.healthy()], [AGENT, OTHER], [], Verdict.FINE, "all 1"),
        (
            [resources.healthy()],
            [AGENT, AGENT],
            [],
            Verdict.BAD,
            "1 of 1 are scraped twice: shop/clicks",
        ),
        ([resources.suspended()], [], [], Verdict.UNKNOWN, "no driver runs"),
        ([resources.failing()], [], [], Verdict.UNKNOWN, "no driver runs"),
    ],
)
def test_each_driver_that_runs_is_scraped(
    bodies: list[Json], agents: list[Labelled], targets: list[Json], verdict: Verdict, says: str
) -> None:
    check = measured.drivers_check([Job(body) for body in bodies], agents, targets)
    assert check.verdict is verdict
    assert says in check.found


@pytest.mark.parametrize(
    ("agents", "verdict"),
    [
        ([AGENT], Verdict.FINE),
        ([], Verdict.UNKNOWN),
        ([AGENT, series(version="0.0.9")], Verdict.ODD),
    ],
)
def test_agents_are_of_the_operators_version(agents: list[Labelled], verdict: Verdict) -> None:
    assert measured.agents_check(agents, "0.1.0").verdict is verdict


def test_the_operators_own_metrics_come_in() -> None:
    assert measured.operators_check([]).verdict is Verdict.ODD
    assert "2 processes, 1 of which" in measured.operators_check([series(1.0), series(0.0)]).found


@pytest.mark.parametrize(
    ("seconds", "verdict", "says"),
    [
        (0, Verdict.FINE, "agree"),
        (5, Verdict.FINE, "agree"),
        (600, Verdict.ODD, "Prometheus is 10m ahead of this machine"),
        (-90, Verdict.ODD, "behind this machine"),
    ],
)
def test_clocks_that_differ_by_more_than_a_sample_are_told(
    seconds: float, verdict: Verdict, says: str
) -> None:
    shown = NOW + timedelta(seconds=seconds)
    reading = Reading(shown=shown, before=NOW, after=NOW, resolution=timedelta(0))
    check = working.clock_check("Clock", "Prometheus", reading)
    assert check.verdict is verdict
    assert says in check.found


@pytest.mark.parametrize(
    ("bodies", "verdicts"),
    [
        ([], [Verdict.UNKNOWN]),
        ([resources.healthy(), resources.suspended()], [Verdict.FINE]),
        ([resources.healthy(), resources.failing()], [Verdict.FINE, Verdict.BAD]),
        ([resources.healthy(phase="Starting", conditions=[])], [Verdict.ODD]),
        ([resources.failing()] * 25, [Verdict.BAD] * 21),
    ],
)
def test_each_job_that_is_not_well_is_told_up_to_twenty(
    bodies: list[Json], verdicts: list[Verdict]
) -> None:
    made = list(working.jobs_checks([Job(body) for body in bodies], [OPERATOR]))
    assert [one.verdict for one in made] == verdicts


def test_a_job_whose_spark_nobody_tried_is_told_beside_those_that_are_well() -> None:
    well, other = working.jobs_checks([Job(resources.with_untried_spark())], [OPERATOR])
    assert (well.verdict, other.verdict) == (Verdict.FINE, Verdict.ODD)
    assert "Spark 4.9.0" in other.found


def test_a_job_whose_tasks_wait_for_rows_is_told_what_spares_them_that() -> None:
    well, other = working.jobs_checks([Job(resources.with_waiting_tasks())], [OPERATOR])
    assert (well.verdict, other.verdict) == (Verdict.FINE, Verdict.ODD)
    assert "kafka.fetch.max.wait.ms" in other.found


def test_what_is_odd_about_many_jobs_is_told_up_to_twenty_and_then_counted() -> None:
    jobs = [Job(resources.with_waiting_tasks())] * 25
    _, *told = working.jobs_checks(jobs, [OPERATOR])
    assert {one.verdict for one in told} == {Verdict.ODD}
    assert len(told) == 21
    assert told[-1].found.startswith("5 more")


def test_a_jobs_trouble_leads_to_its_page() -> None:
    (check,) = working.jobs_checks([Job(resources.failing())], [])
    assert "DATA_SOURCE_NOT_FOUND" in check.found
    assert check.remedy == "kubectl sluice status clicks -n shop"


@pytest.mark.parametrize("body", [resources.brand_new(), resources.healthy()])
def test_a_job_that_no_operator_looks_after_is_told_with_what_makes_one(body: Json) -> None:
    elsewhere = replace(OPERATOR, namespaces=("billing", "stock"))
    (check,) = working.jobs_checks([Job(body)], [elsewhere, elsewhere])
    assert check.verdict is Verdict.BAD
    assert check.found == "shop/clicks: no operator looks after the namespace shop"
    assert check.remedy == "Add shop to watchNamespaces in the chart of one of them"


def test_an_operator_of_the_whole_cluster_looks_after_each_job() -> None:
    everywhere = replace(OPERATOR, namespaces=())
    (check,) = working.jobs_checks([Job(resources.brand_new())], [everywhere])
    assert check.remedy == "kubectl sluice status clicks -n shop"


@pytest.mark.parametrize(
    ("made", "code"),
    [
        ([fine("One", "well")], Exit.FINE),
        ([fine("One", "well"), odd("Two", "strange", "look")], Exit.FINE),
        ([bad("One", "broken", "mend it"), fine("Two", "well")], Exit.PROBLEM),
    ],
)
def test_only_what_fails_counts_for_scripts(made: list[Check], code: Exit) -> None:
    assert report.exit_code(made) is code
    assert report.data([("Part", made)], [])["fine"] is (code is Exit.FINE)


def test_the_examination_is_summed_up() -> None:
    made = [fine("One", "well"), bad("Two", "broken", "mend it"), fine("Three", "well")]
    assert report.summary(made).plain == "2 ok, 1 FAIL"
