"""What jobs need around them: namespaces with a claim, and an operator that looks after these alone.

Each is there for the length of a block and leaves other checkouts' jobs on the same cluster alone.
SLUICE_E2E_KEEP=1 leaves everything in place for a look.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from e2e.support.api import Cluster, to_yaml, wait_for
from e2e.support.jobs import CLAIM
from sluice.manifests.profiling.consent import COPIES_FROM


def is_kept() -> bool:
    """Whether what was made is to stay."""
    return bool(os.environ.get("SLUICE_E2E_KEEP"))


@contextmanager
def namespace(cluster: Cluster, name: str, *, copies_from: str | None = None) -> Iterator[str]:
    """A namespace that enforces the Restricted pod security standard, and may be open to copies from another."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    annotations = {} if copies_from is None else {COPIES_FROM: copies_from}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    try:
        yield name
    finally:
        if not is_kept():
            remove_namespace(cluster, name)


def give_claim(cluster: Cluster, namespace: str) -> None:
    """Make the claim of the jobs' checkpoints."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    cluster.apply(to_yaml(claim), namespace)


def give_definitions(cluster: Cluster) -> None:
    """Have the CRDs served."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "crds/")
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", "crds/")


@contextmanager
def operator(cluster: Cluster, home: str, watched: Sequence[str], prometheus: str) -> Iterator[str]:
    """The operator, installed by Helm in a namespace of its own; its jobs go before it does."""
    try:
        _helm(
            *("install", "sluice", "charts/sluice", "--namespace", home, "--create-namespace"),
            *("--set", "image.tag=dev", "--set", f"watchNamespaces={{{','.join(watched)}}}"),
            *("--set", "operator.pollIntervalSeconds=1"),
            *("--set", f"prometheus.url={prometheus}"),
            *("--wait", "--timeout", "120s"),
        )
        yield home
    finally:
        if not is_kept():
            for place in watched:
                for item in cluster.list("StreamJob", place):
                    cluster.delete("StreamJob", place, item["metadata"]["name"])
            _helm("uninstall", "sluice", "--namespace", home, "--ignore-not-found", "--wait")
            remove_namespace(cluster, home)


def remove_namespace(cluster: Cluster, name: str) -> None:
    """Delete a namespace, if it is there, and wait until it is gone."""
    cluster.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")
    wait_for(
        f"end of namespace {name}",
        lambda: f'"{name}" not found' in cluster.kubectl("get", "namespace", name, check=False),
        seconds=300,
    )


def _helm(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "e2e.cluster", "helm", *words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
