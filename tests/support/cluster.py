"""The Kubernetes API in memory: it stores, counts versions, and answers with our errors. No controllers."""

import copy
import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluice.errors import Conflict, NotFound
from sluice.ports import PODS, STREAM_JOBS, Json, Resource
from tests.support.jobs import NOW


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its verb, what it was about, and what was sent."""

    verb: str
    plural: str
    name: str
    body: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return f"{self.verb} {self.plural}/{self.name}"


class MemoryCluster:
    """A `Cluster` for tests. `refuse` makes the next request of a kind fail; `calls` are all writes.

    `watchers` are told of every change: its type in a watch, the kind of object, and the object.
    """

    def __init__(self, now: Callable[[], datetime] = lambda: NOW) -> None:
        """`now` is what objects are told to be created at."""
        self._now = now
        self.calls: list[Call] = []
        self.rehearsed: list[Json] = []
        self.watchers: list[Callable[[str, str, Json], None]] = []
        self._objects: dict[tuple[str, str, str], Json] = {}
        self._refusals: dict[tuple[str, str], list[Exception]] = defaultdict(list)
        self._versions = itertools.count(100)
        self._uids = itertools.count(1)
        self._gone: set[str] = set()

    @property
    def writes(self) -> list[str]:
        """All writes so far but events, as "verb plural/name"."""
        return [str(call) for call in self.calls if call.plural != "events"]

    def refuse(self, verb: str, resource: Resource, *errors: Exception) -> None:
        """Answer the next requests of this kind with these errors."""
        self._refusals[verb, resource.plural] += errors

    def answer_again(self) -> None:
        """Answer everything from now on."""
        self._refusals.clear()

    def put(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Store an object as somebody else would, without a call."""
        metadata = body["metadata"]
        key = (resource.plural, metadata.get("namespace", ""), metadata["name"])
        known = self._objects.get(key, {"metadata": {}})["metadata"]
        made = {
            "uid": known.get("uid") or f"uid-{next(self._uids)}",
            "creationTimestamp": known.get("creationTimestamp") or self._now().isoformat(),
            **metadata,
            "resourceVersion": str(next(self._versions)),
        }
        if made["uid"] in self._gone:
            # No object ever has the uid of another one.
            made["uid"] = f"{made['uid']}-{next(self._uids)}"
        kind = "MODIFIED" if key in self._objects else "ADDED"
        self._objects[key] = copy.deepcopy({**body, "metadata": made})
        self._tell(kind, resource, self._objects[key])
        return copy.deepcopy(self._objects[key])

    def share(self, other: "MemoryCluster") -> None:
        """Be another way to the same objects."""
        self._objects = other._objects

    def remove(self, resource: Resource, namespace: str, name: str) -> Json:
        """Take an object away as somebody else would, without a call."""
        removed = self._objects.pop((resource.plural, namespace, name))
        removed["metadata"]["resourceVersion"] = str(next(self._versions))
        self._gone.add(removed["metadata"]["uid"])
        self._tell("DELETED", resource, removed)
        return removed

    def collect(self, owner: str, *, spares: Collection[Resource] = ()) -> None:
        """Take away what belonged to the owner of that uid, as the garbage collector does."""
        spared = {resource.plural for resource in spares}
        for (plural, namespace, name), body in list(self._objects.items()):
            owners = {one["uid"] for one in body["metadata"].get("ownerReferences", ())}
            if owner in owners and plural not in spared:
                self.remove(Resource("", plural), namespace, name)

    def empty(self, space: str) -> None:
        """Take away what is in a namespace, as is done with one that is deleted."""
        for plural, namespace, name in list(self._objects):
            if namespace == space and (plural, namespace, name) in self._objects:
                self.remove(Resource("", plural), namespace, name)

    def stored(self, resource: Resource, name: str, namespace: str = "shop") -> Json | None:
        """An object as it is stored."""
        return copy.deepcopy(self._objects.get((resource.plural, namespace, name)))

    def status(self, name: str = "clicks") -> Json:
        """The status of a job."""
        found = self.stored(STREAM_JOBS, name)
        assert found is not None
        status: Json = found["status"]
        return status

    def pod(self, name: str = "clicks-driver") -> Json | None:
        """A pod as it is stored."""
        return self.stored(PODS, name)

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """Read an object."""
        self._answer("get", resource)
        return copy.deepcopy(self._find(resource, namespace, name))

    async def each(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        selector: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> AsyncIterator[Json]:
        """Read the objects that have all labels of the selector."""
        self._answer("list", resource)
        for (plural, place, _), body in list(self._objects.items()):
            if plural != resource.plural or namespace not in (None, place):
                continue
            if _has_labels(body, selector) and _has_fields(body, fields):
                yield copy.deepcopy({"metadata": body["metadata"]} if metadata_only else body)

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Create an object."""
        metadata = body["metadata"]
        self._record("create", resource, body)
        if (resource.plural, metadata.get("namespace", ""), metadata["name"]) in self._objects:
            raise Conflict(f"{metadata['name']} exists")
        return self.put(resource, body)

    async def rehearse(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """Answer as to the creation of an object."""
        self.rehearsed.append(copy.deepcopy(dict(body)))
        self._answer("rehearse", resource)

    async def replace(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Replace an object of the same version."""
        self._record("replace", resource, body)
        metadata = body["metadata"]
        self._match(self._find(resource, metadata.get("namespace", ""), metadata["name"]), metadata)
        return self.put(resource, body)

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Json:
        """Store an object or its status."""
        self._record("apply", resource, body)
        if not subresource:
            return self.put(resource, body)
        metadata = body["metadata"]
        found = self._find(resource, metadata.get("namespace", ""), metadata["name"])
        self._match(found, metadata)
        return self.put(resource, {**found, subresource: body[subresource]})

    async def amend(
        self, resource: Resource, body: Mapping[str, Any], *, tests: Mapping[str, object]
    ) -> bool:
        """Replace parts of an object that has the values of the tests."""
        self._record("amend", resource, body)
        metadata = body["metadata"]
        found = self._find(resource, metadata.get("namespace", ""), metadata["name"])
        if any(_at(found, pointer) != value for pointer, value in tests.items()):
            return False
        amended = {**found, **body, "metadata": found["metadata"]}
        if amended != found:
            self.put(resource, amended)
        return True

    async def resize(self, body: Mapping[str, Any]) -> Json:
        """Merge the resources of the containers that are named into those of a pod."""
        self._record("resize", PODS, body)
        metadata = body["metadata"]
        pod = copy.deepcopy(self._find(PODS, metadata["namespace"], metadata["name"]))
        for sent in body["spec"]["containers"]:
            (found,) = (one for one in pod["spec"]["containers"] if one["name"] == sent["name"])
            for part, amounts in sent["resources"].items():
                found["resources"].setdefault(part, {}).update(amounts)
        return self.put(PODS, pod)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, by_force: bool = False
    ) -> None:
        """Delete the object of that uid, if it is there; a pod stays until its kubelet lets it go, or force is used."""
        self._record("delete", resource, {"metadata": {"name": name}})
        found = self._objects.get((resource.plural, namespace, name))
        if found is None or found["metadata"]["uid"] != uid:
            return
        if resource == PODS and not by_force:
            leaving = {**found["metadata"], "deletionTimestamp": NOW.isoformat()}
            self.put(resource, {**found, "metadata": leaving})
        else:
            self.remove(resource, namespace, name)

    def _tell(self, kind: str, resource: Resource, body: Json) -> None:
        for watcher in self.watchers:
            watcher(kind, resource.plural, copy.deepcopy(body))

    def _record(self, verb: str, resource: Resource, body: Mapping[str, Any]) -> None:
        call = Call(verb, resource.plural, body["metadata"]["name"], copy.deepcopy(dict(body)))
        self.calls.append(call)
        self._answer(verb, resource)

    def _answer(self, verb: str, resource: Resource) -> None:
        if self._refusals[verb, resource.plural]:
            raise self._refusals[verb, resource.plural].pop(0)

    def _find(self, resource: Resource, namespace: str, name: str) -> Json:
        try:
            return self._objects[resource.plural, namespace, name]
        except KeyError:
            raise NotFound(f"{resource.plural}/{name}") from None

    def _match(self, found: Json, sent: Mapping[str, Any]) -> None:
        for key in ("uid", "resourceVersion"):
            if key in sent and sent[key] != found["metadata"][key]:
                raise Conflict(f"{found['metadata']['name']} has another {key}")


def _at(body: Json, pointer: str) -> object:
    """What is at a JSON pointer (RFC 6901)."""
    found: Any = body
    for part in pointer.split("/")[1:]:
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except LookupError:
            return None
    return found


def _has_labels(body: Json, selector: str) -> bool:
    labels = body["metadata"].get("labels", {})
    for part in filter(None, selector.split(",")):
        name, _, value = part.partition("=")
        if name not in labels or (value and labels[name] != value):
            return False
    return True


def _has_fields(body: Json, selector: str) -> bool:
    for part in filter(None, selector.split(",")):
        path, _, value = part.partition("=")
        found: Any = body
        for name in path.split("."):
            found = found.get(name, {})
        if value not in (found, json.dumps(found)):
            return False
    return True
