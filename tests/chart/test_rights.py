"""What the operator asks of the API server is what the chart allows it, with no right to spare that is dangerous."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from sluice.errors import ClusterUnavailable
from sluice.manifests.children import children
from sluice.manifests.profiling.consent import COPIES_FROM
from sluice.ports import (
    CLAIMS,
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    STREAM_JOBS,
    STREAM_PROFILES,
    Cluster,
    Resource,
)
from sluice.services.agentkey import NAME
from sluice.services.operating import Operator, Scope
from tests.support import pods
from tests.support.agents import MemoryAgents
from tests.support.cluster import MemoryCluster
from tests.support.forecasts import LocalForecasts
from tests.support.helm import HOME, Helm, Json, of_kind
from tests.support.jobs import job, resource
from tests.support.profiles import profile_resource
from tests.support.virtual_time import VirtualClock, VirtualLoop


@dataclass(frozen=True, slots=True)
class Right:
    """One thing that somebody wants to do; in no namespace means in all."""

    verb: str
    group: str
    resource: str
    namespace: str | None
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} in {self.namespace or 'all namespaces'}"


class Asked:
    """A cluster that keeps what it was asked for."""

    def __init__(self, cluster: Cluster) -> None:
        self.rights: set[Right] = set()
        self._cluster = cluster

    def _note(self, verb: str, resource: Resource, namespace: str | None, name: str = "") -> None:
        group = resource.api_version.rpartition("/")[0]
        if resource is NAMESPACES and verb == "get":
            # A Role in a namespace may allow to look at the namespace itself.
            namespace = name
        self.rights.add(Right(verb, group, resource.plural, namespace, name))

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        self._note("get", resource, namespace, name)
        return await self._cluster.get(resource, namespace, name)

    async def each(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        selector: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> AsyncIterator[Json]:
        self._note("list", resource, namespace)
        if resource not in (NODES, NAMESPACES, CLAIMS, EVENTS):
            # What else is listed is watched, too, by kopf.
            self._note("watch", resource, namespace)
        async for body in self._cluster.each(
            resource, namespace, selector=selector, fields=fields, metadata_only=metadata_only
        ):
            yield body

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        self._note("create", resource, body["metadata"].get("namespace"))
        return await self._cluster.create(resource, body)

    async def rehearse(self, resource: Resource, body: Mapping[str, Any]) -> None:
        self._note("create", resource, body["metadata"].get("namespace"))
        await self._cluster.rehearse(resource, body)

    async def replace(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        self._note("update", resource, body["metadata"]["namespace"])
        return await self._cluster.replace(resource, body)

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Json:
        place = body["metadata"]["namespace"]
        if subresource:
            part = Resource(resource.api_version, f"{resource.plural}/{subresource}")
            self._note("patch", part, place)
        else:
            # What is applied and not there yet is created.
            self._note("patch", resource, place)
            self._note("create", resource, place)
        return await self._cluster.apply(resource, body, subresource=subresource)

    async def amend(
        self, resource: Resource, body: Mapping[str, Any], *, tests: Mapping[str, object]
    ) -> bool:
        self._note("patch", resource, body["metadata"]["namespace"])
        return await self._cluster.amend(resource, body, tests=tests)

    async def resize(self, body: Mapping[str, Any]) -> Json:
        self._note("patch", Resource("v1", "pods/resize"), body["metadata"]["namespace"])
        return await self._cluster.resize(body)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, by_force: bool = False
    ) -> None:
        self._note("delete", resource, namespace)
        await self._cluster.delete(resource, namespace, name, uid=uid, by_force=by_force)


async def _a_resize(operator: Operator, cluster: MemoryCluster, pod: Json) -> None:
    """Its executor is given more CPU while it runs."""
    operator.pod_changed(cluster.put(PODS, pods.running(pod)))
    operator.pod_changed(cluster.put(PODS, pods.executor("clicks", "clicks-1-exec-1")))
    await asyncio.sleep(5)
    job = cluster.stored(STREAM_JOBS, "clicks")
    assert job is not None
    job["metadata"]["generation"] += 1
    executor = job["spec"]["application"].get("executor", {})
    more = f"{int(executor.get('cpuLimit', '2000m').removesuffix('m')) + 500}m"
    job["spec"]["application"]["executor"] = {"cpuLimit": more}
    operator.job_changed(cluster.put(STREAM_JOBS, job))
    await asyncio.sleep(5)


def _with_a_good_spec_to_read() -> Json:
    """A job that worked once, whose spec is wrong by now."""
    good = {"generation": 1, "fingerprint": "0", "checkpoint": "claim://shop/checkpoints/broken"}
    wrong = resource("broken", generation=2, executors={"min": 5, "max": 2})
    return {**wrong, "status": {"proving": {"good": good}}}


async def _a_profiles_life(
    operator: Operator, cluster: MemoryCluster, namespaces: tuple[str, ...]
) -> None:
    """Make a copy in two tries, end it because its job is gone; make another, and find it without its profile."""
    places = list(namespaces[1:])
    for name in ("first", "second"):
        profile = profile_resource(name, executors=[1], namespaces=places, job="profiled")
        operator.job_changed(cluster.put(STREAM_JOBS, _with_all_that_is_copied()))
        if name == "first":
            cluster.refuse("create", STREAM_JOBS, ClusterUnavailable("away"))
        operator.profile_changed(cluster.put(STREAM_PROFILES, profile))
        await asyncio.sleep(60)
        space = places[0] if places else f"{name}-x1-0123u"
        copy = cluster.stored(STREAM_JOBS, "profiled", space)
        assert copy is not None
        operator.job_changed(copy)
        await asyncio.sleep(5)
        if name == "first":
            operator.job_gone(cluster.remove(STREAM_JOBS, "shop", "profiled"))
            await asyncio.sleep(5)
        operator.profile_gone(cluster.remove(STREAM_PROFILES, "shop", name))
        await asyncio.sleep(5)
        operator.job_gone(copy)
        # What Kubernetes takes.
        operator.pod_gone(cluster.remove(PODS, space, "profiled-driver"))
        cluster.collect(copy["metadata"]["uid"])
        if not places:
            cluster.empty(space)


def _with_all_that_is_copied() -> Json:
    """A job with a claim, a ConfigMap and a source."""
    variable = {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "tuning", "key": "a"}}}
    whole = resource("profiled", suspend=True)
    whole["spec"]["application"]["environment"] = [variable]
    whole["spec"]["sources"] = [{"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["a"]}}]
    return whole


async def _a_jobs_life(namespaces: tuple[str, ...]) -> set[Right]:
    """Take over, start a driver, see it fail, start another; a second operator follows on the first."""
    cluster = MemoryCluster()
    asked = Asked(cluster)
    cluster.put(STREAM_JOBS, resource(scaling={"mode": "Observe"}))
    cluster.put(STREAM_JOBS, _with_a_good_spec_to_read())
    lab = {"name": "lab", "annotations": {COPIES_FROM: "shop"}}
    cluster.put(NAMESPACES, {"metadata": lab})
    cluster.put(CONFIG_MAPS, {"metadata": {"name": "tuning", "namespace": "shop"}, "data": {}})
    for identity in ("first", "second"):
        operator = Operator(
            cluster=asked,
            agents=MemoryAgents(VirtualClock()),
            metrics=None,
            forecasts=LocalForecasts(),
            clock=VirtualClock(),
            scope=Scope(namespaces=namespaces, home=HOME, identity=identity),
            agent=b"packed",
            fresh_key=b"fresh",
        )
        task = asyncio.create_task(operator.run())
        await asyncio.sleep(5)
        pod = cluster.pod()
        assert pod is not None
        await _a_resize(operator, cluster, pod)
        operator.pod_changed(cluster.put(PODS, pods.failed(pod)))
        await asyncio.sleep(5)
        operator.pod_gone(cluster.remove(PODS, "shop", "clicks-driver"))
        await asyncio.sleep(600)
        # A watch that is mistaken: the pod that is there after all is in the next one's way, and is read.
        operator.pod_gone(cluster.pod() or {})
        await asyncio.sleep(5)
        await _a_profiles_life(operator, cluster, namespaces)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return asked.rights


Life = tuple[str, set[Right]]

NAMESPACES_WATCHED: Mapping[str, tuple[str, ...]] = {
    "cluster-wide": (),
    "two namespaces": ("shop", "lab"),
}


@pytest.fixture(scope="module")
def lives() -> Mapping[str, Life]:
    """The values of the chart for some namespaces, and what the operator then asks for."""
    found = {}
    for name, namespaces in NAMESPACES_WATCHED.items():
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            rights = runner.run(_a_jobs_life(namespaces))
        found[name] = (f"watchNamespaces={list(namespaces)}".replace("'", '"'), rights)
    return found


@pytest.fixture(scope="module", params=NAMESPACES_WATCHED)
def life(request: pytest.FixtureRequest, lives: Mapping[str, Life]) -> Life:
    """One of them."""
    return lives[request.param]


def test_the_life_of_a_profile_makes_and_removes_all_that_a_copy_has(
    life: Life,
) -> None:
    asked = {(right.verb, right.resource) for right in life[1]}
    assert {("create", "persistentvolumeclaims"), ("create", "streamjobs")} <= asked
    assert ("delete", "streamjobs") in asked
    guards = {("create", "networkpolicies"), ("create", "resourcequotas"), ("create", "namespaces")}
    if "lab" in life[0]:
        assert ("delete", "persistentvolumeclaims") in asked
        assert not guards & asked
    else:
        assert ("delete", "namespaces") in asked
        assert guards <= asked


def rules_of_operator(objects: list[Json]) -> list[tuple[str | None, Json]]:
    """What is bound to the operator's account: where, None for everywhere, and a rule."""
    (account,) = of_kind(objects, "ServiceAccount")
    rules = []
    for binding in objects:
        if not binding["kind"].endswith("RoleBinding"):
            continue
        (subject,) = binding["subjects"]
        assert (subject["namespace"], subject["name"]) == account
        place = binding["metadata"].get("namespace")
        role = of_kind(objects, binding["roleRef"]["kind"])[place or "", binding["roleRef"]["name"]]
        rules += [(place, rule) for rule in role["rules"]]
    return rules


def allows(rules: list[tuple[str | None, Json]], right: Right) -> bool:
    """What the API server's authoriser would say."""
    return any(
        place in (None, right.namespace)
        and right.group in rule["apiGroups"]
        and right.resource in rule["resources"]
        and right.verb in rule["verbs"]
        and right.name in rule.get("resourceNames", [right.name])
        for place, rule in rules
    )


def test_the_life_of_a_job_asks_for_every_kind_of_request(life: Life) -> None:
    verbs = {right.verb for right in life[1]}
    assert verbs == {"get", "list", "watch", "create", "update", "patch", "delete"}


def test_everything_that_is_asked_for_is_allowed(helm: Helm, life: Life) -> None:
    value, rights = life
    rules = rules_of_operator(helm.render(value))
    assert [str(right) for right in rights if not allows(rules, right)] == []


SELDOM = {
    # A profile that begins by itself, and goes when it is old.
    ("create", "streamprofiles"),
    ("delete", "streamprofiles"),
    # No request, but admission asks for it when a child's owner is to wait for it.
    ("update", "streamjobs/finalizers"),
}
"""Rights of which those lives make no use."""


def test_nothing_is_allowed_that_nobody_asks_for(helm: Helm, lives: Mapping[str, Life]) -> None:
    asked = {(one.verb, one.resource) for _, rights in lives.values() for one in rights}
    handed = {(one.verb, one.resource) for one in handed_to_a_driver()}
    granted = {
        (verb, resource)
        for value, _ in lives.values()
        for _, rule in rules_of_operator(helm.render(value))
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted - asked - handed == SELDOM


def handed_to_a_driver() -> list[Right]:
    """What its Role allows a driver."""
    stages = children(job(), 1, agent=b"", key=b"")
    (role,) = [body for stage in stages for body in stage if body["kind"] == "Role"]
    return [
        Right(verb, group, kind, "shop")
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for kind in rule["resources"]
        for verb in rule["verbs"]
    ]


@pytest.mark.parametrize("value", ["watchNamespaces=[]", 'watchNamespaces=["shop"]'])
def test_the_operator_has_every_right_that_it_hands_to_a_driver(helm: Helm, value: str) -> None:
    rules = rules_of_operator(helm.render(value))
    handed = handed_to_a_driver()
    assert handed
    assert [str(right) for right in handed if not allows(rules, right)] == []
    assert allows(rules, Right("update", "sluice.dev", "streamjobs/finalizers", "shop"))


def test_an_operator_of_some_namespaces_has_no_right_elsewhere_but_to_list_nodes(
    helm: Helm,
) -> None:
    rules = rules_of_operator(helm.render('watchNamespaces=["shop","bank"]'))
    assert {place for place, _ in rules} == {"shop", "bank", HOME, None}
    (elsewhere,) = [rule for place, rule in rules if place is None]
    assert elsewhere == {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}


def test_who_leaves_cordoned_nodes_alone_needs_no_right_elsewhere(helm: Helm) -> None:
    objects = helm.render('watchNamespaces=["shop"]', "watchNodes=false")
    assert {place for place, _ in rules_of_operator(objects)} == {"shop", HOME}
    assert not of_kind(objects, "ClusterRoleBinding")


@pytest.mark.parametrize("value", ["watchNamespaces=[]", 'watchNamespaces=["shop"]'])
def test_no_secret_but_its_own_can_be_read_and_nothing_is_allowed_by_a_star(
    helm: Helm, value: str
) -> None:
    rules = rules_of_operator(helm.render(value))
    assert allows(rules, Right("get", "", "secrets", HOME, NAME))
    for verb in ("get", "list", "watch"):
        assert not allows(rules, Right(verb, "", "secrets", "shop", NAME))
        assert not allows(rules, Right(verb, "", "secrets", HOME, "another"))
    for _, rule in rules:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]


@pytest.mark.parametrize("verb", ["escalate", "bind", "impersonate", "exec"])
def test_the_operator_cannot_raise_its_own_rights(helm: Helm, verb: str) -> None:
    for _, rule in rules_of_operator(helm.render()):
        assert verb not in rule["verbs"]
        assert "pods/exec" not in rule["resources"]


def test_an_operator_that_is_to_make_no_namespaces_may_not(helm: Helm) -> None:
    rules = rules_of_operator(helm.render("makeNamespaces=false"))
    assert allows(rules, Right("get", "", "namespaces", "lab"))
    for verb in ("list", "create", "delete"):
        assert not allows(rules, Right(verb, "", "namespaces", None))


def test_people_may_edit_and_view_jobs_by_the_clusters_own_roles(helm: Helm) -> None:
    roles = of_kind(helm.render(), "ClusterRole")
    edit, view = roles["", f"{HOME}-sluice-edit"], roles["", f"{HOME}-sluice-view"]
    label = "rbac.authorization.k8s.io/aggregate-to-"
    assert edit["metadata"]["labels"][f"{label}edit"] == "true"
    assert view["metadata"]["labels"][f"{label}view"] == "true"
    assert {verb for rule in view["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert not any("streamjobs/status" in rule["resources"] for rule in edit["rules"])
