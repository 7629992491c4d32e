"""The driver pod and the template of the executors: both restricted, both open to the user's template."""

import json
from typing import Any

from sluice.core.application import CHECKPOINT_MOUNT, Checkpoint, PodShape, StreamJob
from sluice.core.asking import RESTART
from sluice.core.quantities import CpuShare, format_cpu
from sluice.manifests import names
from sluice.manifests.overlay import overlay

Json = dict[str, Any]

_POD_SECURITY: Json = {
    "runAsNonRoot": True,
    "runAsUser": names.SPARK_UID,
    "runAsGroup": names.SPARK_GID,
    "fsGroup": names.SPARK_GID,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}
_EACH_CONTAINER: Json = {
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    # What one that fails has said last is then in the job's status.
    "terminationMessagePolicy": "FallbackToLogsOnError",
}


def driver_pod(job: StreamJob, incarnation: int) -> Json:
    """The pod of one incarnation of the driver."""
    application = job.application
    metadata = names.owned_metadata(job, names.driver_pod(job.key.name))
    metadata["labels"] = names.labels(job.key.name, names.DRIVER, incarnation)
    metadata["annotations"] = {
        names.SPEC_ANNOTATION: json.dumps(job.document, sort_keys=True, separators=(",", ":")),
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(names.AGENT_PORT),
        "prometheus.io/path": "/metrics",
        **({} if job.restart_asked is None else {RESTART: job.restart_asked}),
    }
    base = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "restartPolicy": "Never",
            "serviceAccountName": names.service_account(job),
            # An account of the owner's may keep its token from pods; the driver needs it, to make executors.
            "automountServiceAccountToken": True,
            "terminationGracePeriodSeconds": int(application.stop_deadline.total_seconds()) + 10,
            "securityContext": _POD_SECURITY,
            # Hundreds of services in a namespace must not become thousands of variables.
            "enableServiceLinks": False,
            "containers": [_driver_container(job, incarnation)],
            "volumes": [*_volumes(job), *_checkpoint_volume(job.checkpoint)],
            "imagePullSecrets": [{"name": name} for name in application.image_pull_secrets],
        },
    }
    return _with_defaults(overlay(base, application.driver.template))


def executor_template(job: StreamJob, incarnation: int) -> Json:
    """What Spark makes executors from; Spark adds image, command, resources and its own volumes."""
    container: Json = {
        "name": names.EXECUTOR,
        "env": [*_with_the_users(_python_variables(job), job), _spark_auth(job)],
        "securityContext": {"readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, *_checkpoint_mount(job.checkpoint)],
    }
    base = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": names.labels(job.key.name, names.EXECUTOR, incarnation)},
        "spec": {
            # For what a cloud lets the account do; of the token by which the driver makes pods they get nothing.
            "serviceAccountName": names.service_account(job),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": _POD_SECURITY,
            "containers": [container],
            "volumes": [{"name": "tmp", "emptyDir": {}}, *_checkpoint_volume(job.checkpoint)],
        },
    }
    return _with_defaults(overlay(base, job.application.executor.template))


def executor_pod(job: StreamJob, incarnation: int) -> Json:
    """An executor as Spark makes it of that template, as far as the API server's admission asks."""
    shape, template = job.application.executor, executor_template(job, incarnation)
    memory = f"{job.application.executor_mebibytes}Mi"
    requests, limits = {"cpu": format_cpu(shape.cpu_request), "memory": memory}, {"memory": memory}
    if shape.cpu_limit is not None:
        limits["cpu"] = format_cpu(shape.cpu_limit)
    made = {"image": job.application.image, "resources": {"requests": requests, "limits": limits}}
    spec = template["spec"]
    containers = [
        {**container, **made} if container["name"] == names.EXECUTOR else container
        for container in spec["containers"]
    ]
    # Spark counts from one.
    name = f"{job.key.name}-{incarnation}-exec-0"
    metadata = {**template["metadata"], "namespace": job.key.namespace, "name": name}
    return {
        **template,
        "metadata": metadata,
        "spec": {**spec, "restartPolicy": "Never", "containers": containers},
    }


def resized(namespace: str, pod: str, share: CpuShare) -> Json:
    """A patch by which a running executor has another share of CPU."""
    resources: Json = {"requests": {"cpu": format_cpu(share.request)}}
    if share.limit is not None:
        resources["limits"] = {"cpu": format_cpu(share.limit)}
    return {
        "metadata": {"namespace": namespace, "name": pod},
        "spec": {"containers": [{"name": names.EXECUTOR, "resources": resources}]},
    }


def _with_defaults(pod: Json) -> Json:
    """The pod with what each of its containers has, ours and the users' own: a namespace may insist on restrictions."""
    spec = dict(pod["spec"])
    for group in ("initContainers", "containers"):
        if spec.get(group):
            spec[group] = [overlay(_EACH_CONTAINER, container) for container in spec[group]]
    return {**pod, "spec": spec}


def _driver_container(job: StreamJob, incarnation: int) -> Json:
    application = job.application
    agent = [
        "python3",
        f"{names.AGENT_DIRECTORY}/agent.pyz",
        application.main_file,
        *application.arguments,
    ]
    return {
        "name": names.DRIVER,
        "image": application.image,
        "imagePullPolicy": application.image_pull_policy,
        # As arguments, so that an image's own entrypoint (tini) stays in front.
        "args": agent,
        "env": _environment(job, incarnation),
        "ports": [
            {"name": "agent", "containerPort": names.AGENT_PORT},
            {"name": "driver", "containerPort": names.DRIVER_PORT},
            {"name": "blockmanager", "containerPort": names.BLOCK_MANAGER_PORT},
            {"name": "ui", "containerPort": names.UI_PORT},
        ],
        "resources": _resources(application.driver),
        "securityContext": {"readOnlyRootFilesystem": True},
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "agent", "mountPath": names.AGENT_DIRECTORY, "readOnly": True},
            {"name": "conf", "mountPath": names.CONF_DIRECTORY, "readOnly": True},
            {"name": "auth", "mountPath": names.AUTH_DIRECTORY, "readOnly": True},
            *_checkpoint_mount(job.checkpoint),
        ],
    }


def _environment(job: StreamJob, incarnation: int) -> list[Json]:
    """The driver's variables; those that others refer to as $(NAME) come first."""
    plain = {
        "SLUICE_JOB_NAMESPACE": job.key.namespace,
        "SLUICE_JOB_NAME": job.key.name,
        "SLUICE_JOB_UID": job.uid,
        "SLUICE_INCARNATION": str(incarnation),
        "SLUICE_CHECKPOINT_LOCATION": job.checkpoint.url,
        "SLUICE_LEASE": names.lease(job.checkpoint_location),
        "SLUICE_LEASE_SECONDS": str(int(job.checkpoint.lease.total_seconds())),
        **_sources(job),
        "SLUICE_EXECUTORS": str(job.executors.initial),
        "SLUICE_AGENT_PORT": str(names.AGENT_PORT),
        "SLUICE_AGENT_TOKEN_FILE": f"{names.AUTH_DIRECTORY}/agent-token",
        "SLUICE_TERMINATION_LOG": "/dev/termination-log",
        "SLUICE_STOP_DEADLINE_SECONDS": str(int(job.application.stop_deadline.total_seconds())),
        "SPARK_CONF_DIR": names.CONF_DIRECTORY,
    }
    address = {"name": "SLUICE_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return [address, *_with_the_users({**plain, **_python_variables(job)}, job)]


def _python_variables(job: StreamJob) -> dict[str, str]:
    variables = {"PYTHONUNBUFFERED": "1", "HOME": "/tmp"}
    if job.application.python_path:
        variables["PYTHONPATH"] = ":".join(job.application.python_path)
    return variables


def _sources(job: StreamJob) -> dict[str, str]:
    if not job.sources:
        return {}
    servers = dict.fromkeys(server for source in job.sources for server in source.bootstrap_servers)
    topics = dict.fromkeys(topic for source in job.sources for topic in source.topics)
    return {
        "SLUICE_KAFKA_BOOTSTRAP_SERVERS": ",".join(servers),
        "SLUICE_KAFKA_TOPICS": ",".join(topics),
    }


def _with_the_users(ours: dict[str, str], job: StreamJob) -> list[Json]:
    """Our variables and then the user's, which may refer to ours; of two with one name, theirs."""
    theirs = [_behind_python_path(dict(one), job) for one in job.application.environment]
    taken = {variable["name"] for variable in theirs}
    kept = [{"name": name, "value": value} for name, value in ours.items() if name not in taken]
    return [*kept, *theirs]


def _behind_python_path(variable: Json, job: StreamJob) -> Json:
    """A variable of the user's; of Python's path, with the declared directories in front of it."""
    if variable["name"] != "PYTHONPATH" or "valueFrom" in variable:
        return variable
    path = [*job.application.python_path, *filter(None, [variable.get("value")])]
    return {**variable, "value": ":".join(path)}


def _spark_auth(job: StreamJob) -> Json:
    """The executors' secret by reference, because Spark itself would write it into each pod's spec."""
    key = {"name": names.auth_secret(job.key.name), "key": "env"}
    return {"name": "_SPARK_AUTH_SECRET", "valueFrom": {"secretKeyRef": key}}


def _resources(shape: PodShape) -> Json:
    memory = f"{shape.container_mebibytes}Mi"
    limits = {"memory": memory}
    if shape.cpu_limit is not None:
        limits["cpu"] = format_cpu(shape.cpu_limit)
    return {"requests": {"cpu": format_cpu(shape.cpu_request), "memory": memory}, "limits": limits}


def _volumes(job: StreamJob) -> list[Json]:
    conf, secret = names.conf_map(job.key.name), names.auth_secret(job.key.name)
    texts = ("spark-defaults.conf", "log4j2.properties", "executor.yaml")
    return [
        {"name": "tmp", "emptyDir": {}},
        {
            "name": "agent",
            "configMap": {"name": conf, "items": [{"key": "agent.pyz", "path": "agent.pyz"}]},
        },
        {
            "name": "conf",
            "configMap": {"name": conf, "items": [{"key": text, "path": text} for text in texts]},
        },
        {"name": "auth", "secret": {"secretName": secret, "defaultMode": 0o440}},
    ]


def _checkpoint_volume(checkpoint: Checkpoint) -> list[Json]:
    if checkpoint.claim is None:
        return []
    return [{"name": "checkpoint", "persistentVolumeClaim": {"claimName": checkpoint.claim}}]


def _checkpoint_mount(checkpoint: Checkpoint) -> list[Json]:
    if checkpoint.claim is None:
        return []
    return [{"name": "checkpoint", "mountPath": CHECKPOINT_MOUNT}]
