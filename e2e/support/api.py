"""The cluster as a test sees it: objects by kind and name, and waiting for what should become true."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import yaml
from kubernetes import config
from kubernetes.client import CoreV1Api
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import NotFoundError
from kubernetes.watch import Watch
from urllib3.exceptions import HTTPError

WATCHED = 7200
"""Seconds after which the API server ends a watch: a new one would not tell of what went in between."""

T = TypeVar("T")
Json = dict[str, Any]

_API_VERSIONS = {
    "StreamJob": "sluice.dev/v1alpha1",
    "StreamProfile": "sluice.dev/v1alpha1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Lease": "coordination.k8s.io/v1",
    "Deployment": "apps/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster, reached with a kubeconfig."""

    kubeconfig: str

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        """An object as it is now; None if there is none."""
        try:
            found: Json = self._resource(kind).get(namespace=namespace, name=name).to_dict()
        except NotFoundError:
            return None
        return found

    def list(self, kind: str, namespace: str, selector: str = "") -> list[Json]:
        """All objects of a kind in a namespace."""
        items: list[Json] = self.listed(kind, namespace, selector)["items"]
        return items

    def listed(self, kind: str, namespace: str, selector: str = "") -> Json:
        """The same as one object, which has the version from which a watch goes on."""
        answer = self._resource(kind).get(namespace=namespace, label_selector=selector)
        listed: Json = answer.to_dict()
        return listed

    def watch(
        self, kind: str, namespace: str, watch: Watch, *, version: str
    ) -> Iterator[tuple[str, Json]]:
        """What happens to objects of a kind in a namespace since a version: ADDED, MODIFIED or DELETED, and the object.

        Without a version all that are there come first, as ADDED. It ends when `watch` is stopped.
        """
        events = self._resource(kind).watch(
            namespace=namespace, resource_version=version, timeout=WATCHED, watcher=watch
        )
        for event in events:
            yield event["type"], event["raw_object"]

    def create(self, body: Mapping[str, Any]) -> Json:
        """Create an object."""
        created: Json = self._resource(body["kind"]).create(body=dict(body)).to_dict()
        return created

    def patch(self, kind: str, namespace: str, name: str, change: Mapping[str, Any]) -> Json:
        """Merge a change into an object."""
        answer = self._resource(kind).patch(
            namespace=namespace,
            name=name,
            body=dict(change),
            content_type="application/merge-patch+json",
        )
        patched: Json = answer.to_dict()
        return patched

    def delete(self, kind: str, namespace: str, name: str, *, grace: int | None = None) -> None:
        """Delete an object, if it is there."""
        options = {} if grace is None else {"body": {"gracePeriodSeconds": grace}}
        try:
            self._resource(kind).delete(namespace=namespace, name=name, **options)
        except NotFoundError:
            return

    def kubectl(self, *words: str, text: str | None = None, check: bool = True) -> str:
        """What kubectl prints, errors included."""
        done = self.kubectl_process(*words, text=text)
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(words)}: {done.stdout}")
        return done.stdout

    def kubectl_process(
        self, *words: str, text: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """The ended process of kubectl; its standard output has both streams."""
        command = [sys.executable, "-m", "e2e.cluster", "kubectl", *words]
        return subprocess.run(
            command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def sluice(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The ended process of `kubectl sluice`."""
        return subprocess.run(
            [sys.executable, "-m", "sluice", *words],
            env={**os.environ, "KUBECONFIG": self.kubeconfig},
            text=True,
            capture_output=True,
        )

    def pod_page(self, namespace: str, pod: str, path: str) -> str:
        """What a pod, as NAME:PORT, answers over HTTP, through the API server."""
        core = CoreV1Api(_client(self.kubeconfig).client)
        # Without the preload the client would make a Python literal of JSON.
        answer = core.connect_get_namespaced_pod_proxy_with_path(
            pod, namespace, path, _preload_content=False
        )
        text: str = answer.data.decode()
        return text

    def apply(self, text: str, namespace: str) -> None:
        """Apply manifests, as a user does."""
        self.kubectl("apply", "-n", namespace, "-f", "-", text=text)

    def _resource(self, kind: str) -> Any:
        client = _client(self.kubeconfig)
        return client.resources.get(api_version=_API_VERSIONS.get(kind, "v1"), kind=kind)


@cache
def _client(kubeconfig: str) -> Any:
    return DynamicClient(config.new_client_from_config(kubeconfig))


def wait_for(what: str, look: Callable[[], T | None], *, seconds: float, every: float = 0.5) -> T:
    """The first true answer of `look`; fails with the last answer after so many seconds.

    An API server that is away, or just back, gives no answer.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            seen = look()
        except (ApiException, HTTPError) as error:
            seen, told = None, error
        else:
            told = seen
        if seen:
            return seen
        if time.monotonic() > until:
            raise AssertionError(f"after {seconds:g} s: no {what}; last seen: {told!r}")
        time.sleep(every)


def condition(resource: Mapping[str, Any], kind: str) -> Json:
    """A condition of an object; empty if it has none of that kind."""
    for one in (resource.get("status") or {}).get("conditions", []):
        if one["type"] == kind:
            found: Json = one
            return found
    return {}


def to_yaml(*bodies: Mapping[str, Any]) -> str:
    """Several objects as one YAML text."""
    return yaml.safe_dump_all([dict(body) for body in bodies], sort_keys=False)
