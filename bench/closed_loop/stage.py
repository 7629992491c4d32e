"""What a run needs in the cluster, for as long as it lasts: its own namespaces, operator, Prometheus and Kafka."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench import images
from bench.api import find_kubeconfig
from bench.progress import BenchmarkFailed
from e2e.support import installing
from e2e.support.api import Cluster
from e2e.support.load import Load
from e2e.support.prometheus import Prometheus


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Namespaces of the job, of copies that measure it, and of the operator; and what serves them."""

    cluster: Cluster
    namespace: str
    copies: str
    home: str
    prometheus: Prometheus
    load: Load


def local_cluster() -> Cluster:
    """The cluster, which must be up, with images of the present sources. Raises BenchmarkFailed."""
    cluster = Cluster(find_kubeconfig())
    done = cluster.kubectl_process("get", "--raw", "/readyz")
    if done.returncode:
        raise BenchmarkFailed(
            f"the local cluster does not answer ({done.stdout.strip()[-300:]}); `make cluster images` mends it"
        )
    images.load()
    return cluster


@contextmanager
def staged(cluster: Cluster) -> Iterator[Stage]:
    """A stage for the length of a block; names are of this run alone, and all goes with it."""
    name = f"loop-{secrets.token_hex(3)}"
    with ExitStack() as stack:
        namespace = stack.enter_context(installing.namespace(cluster, f"{name}-jobs"))
        copies = stack.enter_context(
            installing.namespace(cluster, f"{name}-copies", copies_from=namespace)
        )
        installing.give_claim(cluster, namespace)
        installing.give_definitions(cluster)
        prometheus = Prometheus(cluster, namespace)
        stack.callback(prometheus.remove)
        prometheus.set_up()
        load = Load(cluster, namespace)
        load.set_up()
        home = stack.enter_context(
            installing.operator(cluster, f"{name}-system", (namespace, copies), prometheus.url)
        )
        yield Stage(
            cluster=cluster,
            namespace=namespace,
            copies=copies,
            home=home,
            prometheus=prometheus,
            load=load,
        )
