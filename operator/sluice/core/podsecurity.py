"""What a pod template may not ask for: the rules of the "restricted" Pod Security Standard, and ours.

Driver and executors always run restricted, so a template that asks for more would only be refused later,
by the cluster, when it is too late to say where the mistake is.
Source of the rules: kubernetes.io, "Pod Security Standards", profile Restricted.
"""

from collections.abc import Iterator, Mapping, Sequence

from sluice.errors import Problem

_ALLOWED_VOLUMES = frozenset(
    "configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret".split()
)
_HOST_FLAGS = ("hostNetwork", "hostPID", "hostIPC")
_OURS = {
    "serviceAccountName": "the operator makes one service account for each job; remove it",
    "serviceAccount": "the operator makes one service account for each job; remove it",
    "automountServiceAccountToken": "the operator decides it; remove it",
    "restartPolicy": "the operator restarts drivers itself; remove it",
    "nodeName": "use nodeSelector or affinity instead",
    "hostname": "remove it",
    "ephemeralContainers": "remove it",
}


def template_problems(
    template: Mapping[str, object], path: str, container: str
) -> Iterator[Problem]:
    """Everything that a pod template at `path` asks for and cannot have."""
    for key in template.keys() - {"metadata", "spec"}:
        yield Problem(f"{path}.{key}", None, "a pod template has metadata and spec only")
    spec = template.get("spec", {})
    if not isinstance(spec, Mapping):
        yield Problem(f"{path}.spec", spec, "must be an object")
        return
    where = f"{path}.spec"
    for flag in _HOST_FLAGS:
        if spec.get(flag):
            yield Problem(f"{where}.{flag}", True, "pods run restricted; remove it")
    for key, remedy in _OURS.items():
        if key in spec:
            yield Problem(f"{where}.{key}", spec[key], remedy)
    yield from _context_problems(spec.get("securityContext"), f"{where}.securityContext")
    yield from _volume_problems(_items(spec.get("volumes")), f"{where}.volumes")
    yield from _containers_problems(spec, where, container)


def _containers_problems(
    spec: Mapping[str, object], where: str, container: str
) -> Iterator[Problem]:
    for group in ("initContainers", "containers"):
        for index, item in enumerate(_items(spec.get(group))):
            yield from _container_problems(item, f"{where}.{group}[{index}]", container)


def _container_problems(item: Mapping[str, object], path: str, container: str) -> Iterator[Problem]:
    if not item.get("name"):
        yield Problem(f"{path}.name", None, f"name the container; ours is {container!r}")
    if item.get("name") == container:
        for key, remedy in (
            ("image", "use spec.application.image"),
            ("command", "the agent is what runs; use spec.application.mainFile"),
            ("args", "use spec.application.arguments"),
            ("resources", "use memory, cpuRequest and cpuLimit beside the template"),
        ):
            if key in item:
                yield Problem(f"{path}.{key}", item[key], remedy)
    for index, port in enumerate(_items(item.get("ports"))):
        if port.get("hostPort"):
            yield Problem(f"{path}.ports[{index}].hostPort", port["hostPort"], "remove it")
    yield from _context_problems(item.get("securityContext"), f"{path}.securityContext")


def _context_problems(context: object, path: str) -> Iterator[Problem]:
    if not isinstance(context, Mapping):
        return
    for key, bad, remedy in (
        ("privileged", True, "pods run restricted; remove it"),
        ("allowPrivilegeEscalation", True, "pods run restricted; remove it"),
        ("runAsNonRoot", False, "pods never run as root; remove it"),
        ("runAsUser", 0, "pods never run as root; name another user"),
    ):
        if key in context and context[key] == bad and type(context[key]) is type(bad):
            yield Problem(f"{path}.{key}", context[key], remedy)
    added = _mapping(context.get("capabilities")).get("add")
    if added and added != ["NET_BIND_SERVICE"]:
        yield Problem(f"{path}.capabilities.add", added, "all capabilities are dropped; remove it")
    if _mapping(context.get("seccompProfile")).get("type") == "Unconfined":
        yield Problem(f"{path}.seccompProfile.type", "Unconfined", "use RuntimeDefault")


def _volume_problems(volumes: Sequence[Mapping[str, object]], path: str) -> Iterator[Problem]:
    for index, volume in enumerate(volumes):
        for kind in sorted(volume.keys() - {"name"} - _ALLOWED_VOLUMES):
            allowed = ", ".join(sorted(_ALLOWED_VOLUMES))
            yield Problem(f"{path}[{index}].{kind}", volume.get("name"), f"use one of {allowed}")


def _items(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
