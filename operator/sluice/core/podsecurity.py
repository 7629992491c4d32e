"""What a pod template may not ask for: the rules of the "restricted" Pod Security Standard, and ours.

Driver and executors always run restricted, so a template that asks for more would only be refused later,
by the cluster, when it is too late to say where the mistake is. The parts that carry a job (its labels, its
container's program, its mounts) are ours for the same reason.
Source of the rules: kubernetes.io, "Pod Security Standards", profile Restricted.
"""

from collections.abc import Iterator, Mapping, Sequence

from sluice.core.application import CHECKPOINT_MOUNT
from sluice.core.ownedconf import is_owned_variable
from sluice.errors import Problem

Json = Mapping[str, object]

_RESTRICTED = "pods run restricted; remove it"
_ALLOWED_VOLUMES = frozenset(
    "configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret".split()
)
_HOST_FLAGS = ("hostNetwork", "hostPID", "hostIPC")
_LISTS = ("containers", "initContainers", "volumes", "tolerations", "imagePullSecrets")
_LISTS_OF_CONTAINERS = ("env", "envFrom", "ports", "volumeMounts")
_KEYS = frozenset(("name", "mountPath", "containerPort"))
"""By which the items of these lists are told apart."""
_OURS = {
    "serviceAccountName": "use spec.application.serviceAccount",
    "serviceAccount": "use spec.application.serviceAccount",
    "automountServiceAccountToken": "the operator decides it; remove it",
    "restartPolicy": "the operator restarts drivers itself; remove it",
    "terminationGracePeriodSeconds": "use spec.application.driver.stopDeadline",
    "nodeName": "use nodeSelector or affinity instead",
    "hostname": "remove it",
    "ephemeralContainers": "remove it",
}
_OUR_CONTAINERS = {
    "image": "use spec.application.image",
    "command": "the agent is what runs; use spec.application.mainFile",
    "args": "use spec.application.arguments",
    "resources": "use memory, cpuRequest and cpuLimit beside the template",
}
_CHECKPOINT = "checkpoint"
_OUR_VOLUMES = frozenset(("agent", "conf", "auth", _CHECKPOINT))
_OUR_DIRECTORIES = frozenset(("/opt/sluice", "/etc/sluice/spark", "/etc/sluice/auth"))
_OUR_PREFIX = "sluice.dev/"


def template_problems(
    template: Json, path: str, container: str, claim: str | None = None
) -> Iterator[Problem]:
    """Everything that a pod template at `path` asks for and cannot have; `claim` is that of the checkpoint."""
    for key in sorted(template.keys() - {"metadata", "spec"}):
        yield Problem(f"{path}.{key}", None, "a pod template has metadata and spec only; remove it")
    yield from _object_problems(template, path, ("metadata", "spec"))
    yield from _metadata_problems(_mapping(template.get("metadata")), f"{path}.metadata")
    spec = _mapping(template.get("spec"))
    yield from _spec_problems(spec, f"{path}.spec", container)
    yield from _claim_problems(_items(spec.get("volumes")), f"{path}.spec.volumes", claim)
    containers = enumerate(_items(spec.get("containers")))
    ours = [(index, item) for index, item in containers if item.get("name") == container]
    for index, item in ours:
        where = f"{path}.spec.containers[{index}].volumeMounts"
        yield from _mount_problems(_items(item.get("volumeMounts")), where, claim)
    for index, _ in ours[1:]:
        # Only one of them could be laid over ours.
        remedy = "it is there twice; make one container of them"
        yield Problem(f"{path}.spec.containers[{index}].name", container, remedy)


def _metadata_problems(metadata: Json, path: str) -> Iterator[Problem]:
    for key in sorted(metadata.keys() - {"labels", "annotations"}):
        remedy = "only labels and annotations can be added; remove it"
        yield Problem(f"{path}.{key}", _shown(metadata[key]), remedy)
    yield from _object_problems(metadata, path, ("labels", "annotations"))
    for group in ("labels", "annotations"):
        for key in _mapping(metadata.get(group)):
            if key.startswith(_OUR_PREFIX):
                remedy = f"names that begin with {_OUR_PREFIX} are the operator's; remove it"
                yield Problem(f"{path}.{group}", key, remedy)


def _spec_problems(spec: Json, path: str, container: str) -> Iterator[Problem]:
    yield from _list_problems(spec, path, _LISTS)
    yield from _object_problems(spec, path, ("securityContext",))
    for flag in _HOST_FLAGS:
        if spec.get(flag):
            yield Problem(f"{path}.{flag}", True, _RESTRICTED)
    for key, remedy in _OURS.items():
        if key in spec:
            yield Problem(f"{path}.{key}", _shown(spec[key]), remedy)
    yield from _context_problems(spec.get("securityContext"), f"{path}.securityContext")
    yield from _volume_problems(_items(spec.get("volumes")), f"{path}.volumes")
    for group in ("initContainers", "containers"):
        for index, item in enumerate(_items(spec.get(group))):
            yield from _container_problems(item, f"{path}.{group}[{index}]", container)


def _list_problems(parent: Json, path: str, names: Sequence[str]) -> Iterator[Problem]:
    """Lists are merged item by item, so each must be one, and hold objects."""
    for name in names:
        value = parent.get(name) or []
        if not isinstance(value, list):
            yield Problem(f"{path}.{name}", _shown(value), "must be a list")
            continue
        for index, item in enumerate(value):
            if not isinstance(item, Mapping):
                yield Problem(f"{path}.{name}[{index}]", item, "must be an object")
                continue
            for key in sorted(_KEYS & item.keys()):
                if not isinstance(item[key], str | int):
                    where = f"{path}.{name}[{index}].{key}"
                    yield Problem(where, _shown(item[key]), "must be a text or a number")


def _object_problems(parent: Json, path: str, names: Sequence[str]) -> Iterator[Problem]:
    """Objects are merged key by key; anything else would take the place of ours."""
    for name in names:
        value = parent.get(name)
        if value is not None and not isinstance(value, Mapping):
            yield Problem(f"{path}.{name}", _shown(value), "must be an object")


def _container_problems(item: Json, path: str, container: str) -> Iterator[Problem]:
    yield from _list_problems(item, path, _LISTS_OF_CONTAINERS)
    yield from _object_problems(item, path, ("securityContext",))
    if not item.get("name"):
        yield Problem(f"{path}.name", None, f"name the container; ours is {container!r}")
    elif item["name"] == container:
        yield from _our_container_problems(item, path)
    elif not item.get("image"):
        remedy = f"name its image; to change the program's own container, call it {container!r}"
        yield Problem(f"{path}.image", item.get("name"), remedy)
    for index, port in enumerate(_items(item.get("ports"))):
        if port.get("hostPort"):
            yield Problem(f"{path}.ports[{index}].hostPort", port["hostPort"], _RESTRICTED)
    yield from _context_problems(item.get("securityContext"), f"{path}.securityContext")


def _our_container_problems(item: Json, path: str) -> Iterator[Problem]:
    for key, remedy in _OUR_CONTAINERS.items():
        if key in item:
            yield Problem(f"{path}.{key}", _shown(item[key]), remedy)
    for index, variable in enumerate(_items(item.get("env"))):
        name = str(variable.get("name", ""))
        if is_owned_variable(name):
            yield Problem(f"{path}.env[{index}].name", name, "it is the operator's; remove it")


def _context_problems(context: object, path: str) -> Iterator[Problem]:
    if not isinstance(context, Mapping):
        return
    for key, bad, remedy in (
        ("privileged", True, _RESTRICTED),
        ("allowPrivilegeEscalation", True, _RESTRICTED),
        ("runAsNonRoot", False, "pods never run as root; remove it"),
        ("runAsUser", 0, "pods never run as root; name another user"),
    ):
        if key in context and context[key] == bad and type(context[key]) is type(bad):
            yield Problem(f"{path}.{key}", context[key], remedy)
    if context.get("procMount") not in (None, "Default"):
        yield Problem(f"{path}.procMount", context["procMount"], _RESTRICTED)
    added = _mapping(context.get("capabilities")).get("add")
    if added and added != ["NET_BIND_SERVICE"]:
        yield Problem(f"{path}.capabilities.add", added, "all capabilities are dropped; remove it")
    for profile in ("seccompProfile", "appArmorProfile"):
        if _mapping(context.get(profile)).get("type") == "Unconfined":
            yield Problem(f"{path}.{profile}.type", "Unconfined", "use RuntimeDefault")


def _volume_problems(volumes: Sequence[Json], path: str) -> Iterator[Problem]:
    for index, volume in enumerate(volumes):
        name = str(volume.get("name"))
        if name in _OUR_VOLUMES:
            remedy = "the operator has a volume of that name; choose another name"
            yield Problem(f"{path}[{index}].name", name, remedy)
        for kind in sorted(volume.keys() - {"name"} - _ALLOWED_VOLUMES):
            allowed = ", ".join(sorted(_ALLOWED_VOLUMES))
            yield Problem(f"{path}[{index}].{kind}", volume.get("name"), f"use one of {allowed}")


def _claim_problems(volumes: Sequence[Json], path: str, claim: str | None) -> Iterator[Problem]:
    """The kubelet mounts one of two volumes of a claim, and waits without a word for the other one."""
    had = {} if claim is None else {claim: _CHECKPOINT}
    for index, volume in enumerate(volumes):
        named = _mapping(volume.get("persistentVolumeClaim")).get("claimName")
        if not isinstance(named, str):
            continue
        if named in had:
            remedy = (
                f"a pod that has a claim twice never starts, and it has this one as the volume {had[named]!r}: "
                "mount that one, with a subPath if need be"
            )
            yield Problem(f"{path}[{index}].persistentVolumeClaim.claimName", named, remedy)
        had[named] = str(volume.get("name"))


def _mount_problems(mounts: Sequence[Json], path: str, claim: str | None) -> Iterator[Problem]:
    """What is mounted in the place of ours takes it away, and a checkpoint would end with its pod unseen."""
    taken = _OUR_DIRECTORIES if claim is None else {*_OUR_DIRECTORIES, CHECKPOINT_MOUNT}
    for index, mount in enumerate(mounts):
        place = str(mount.get("mountPath"))
        is_ours = mount.get("name") in _OUR_VOLUMES
        if not is_ours and f"/{'/'.join(filter(None, place.split('/')))}" in taken:
            remedy = "the operator mounts a volume of its own there; choose another directory"
            yield Problem(f"{path}[{index}].mountPath", place, remedy)


def _items(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _shown(value: object) -> object:
    """A value that fits into a message; None for one that does not."""
    return value if isinstance(value, str | int | float) else None
