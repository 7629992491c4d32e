"""One operator, one Kafka and one namespace of jobs for a whole run; names are of this run alone.

The operator is installed by Helm with rights in that namespace only, so it leaves other checkouts' jobs on the
same cluster alone. SLUICE_E2E_KEEP=1 leaves everything in place for a look.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Generator, Iterator

import pytest

from e2e.support import installing
from e2e.support.api import Cluster, to_yaml
from e2e.support.jobs import Job, passthrough, short_lived
from e2e.support.load import Load
from e2e.support.prometheus import Prometheus

pytestmark = pytest.mark.e2e


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs the cluster, and minutes. What takes longest begins first: at the end, all other
    lanes would wait for it.
    """
    for item in items:
        item.add_marker(pytest.mark.e2e)
        item.add_marker(pytest.mark.timeout(900))
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The local cluster, which must be up."""
    done = subprocess.run(
        [sys.executable, "-m", "e2e.cluster", "kubeconfig"], text=True, capture_output=True
    )
    path = done.stdout.strip()
    if done.returncode or not os.path.exists(path):
        pytest.exit("No local cluster: run `make cluster images` first.", returncode=2)
    return Cluster(path)


@pytest.fixture(scope="session")
def run_name() -> str:
    """What the namespaces of this run are called after."""
    return f"e2e-{secrets.token_hex(3)}"


@pytest.fixture(scope="session")
def namespace(cluster: Cluster, run_name: str) -> Iterator[str]:
    """The namespace of the jobs, with a claim for their checkpoints."""
    with installing.namespace(cluster, f"{run_name}-jobs") as name:
        installing.give_claim(cluster, name)
        yield name


@pytest.fixture(scope="session")
def places(cluster: Cluster, run_name: str, namespace: str) -> Iterator[tuple[str, ...]]:
    """Two namespaces for copies of jobs that are profiled: an operator of some namespaces makes none."""
    with (
        installing.namespace(cluster, f"{run_name}-copy-1", copies_from=namespace) as one,
        installing.namespace(cluster, f"{run_name}-copy-2", copies_from=namespace) as other,
    ):
        yield one, other


@pytest.fixture(scope="session")
def prometheus(cluster: Cluster, namespace: str) -> Iterator[Prometheus]:
    """Prometheus, with the chart's rules, in the namespace of the jobs."""
    server = Prometheus(cluster, namespace)
    server.set_up()
    yield server
    if not installing.is_kept():
        server.remove()


@pytest.fixture(scope="session")
def definitions(cluster: Cluster) -> None:
    """The CRDs, served."""
    installing.give_definitions(cluster)


@pytest.fixture(scope="session")
def operator(
    cluster: Cluster, run_name: str, namespace: str, places: tuple[str, ...], definitions: None
) -> Iterator[str]:
    """The operator, installed by Helm; the name of its namespace."""
    # Tests that want no Prometheus start none there; the operator must bear it.
    url = Prometheus(cluster, namespace).url
    watched = (namespace, *places)
    with installing.operator(cluster, f"{run_name}-system", watched, url) as home:
        yield home


@pytest.fixture(scope="session")
def load(cluster: Cluster, namespace: str) -> Iterator[Load]:
    """Kafka and the load generator."""
    tools = Load(cluster, namespace)
    tools.set_up()
    yield tools
    tools.close()


@pytest.fixture
def job(
    request: pytest.FixtureRequest, cluster: Cluster, namespace: str, operator: str, load: Load
) -> Iterator[Job]:
    """A job named after the test, with its topics, applied and not waited for."""
    name = request.node.originalname.removeprefix("test_").replace("_", "-")[:32].strip("-")
    for end in ("in", "out"):
        load.create_topic(f"{name}-{end}")
    cluster.apply(to_yaml(short_lived(passthrough(name))), namespace)
    made = Job(cluster, namespace, name)
    yield made
    if request.node.stash.get(_FAILED, False):
        _show(cluster, made, operator)
    cluster.delete("StreamJob", namespace, name)
    made.wait_until_gone(seconds=180)


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember for the fixtures whether the test itself failed."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


def _show(cluster: Cluster, job: Job, operator: str) -> None:
    """Print what a person would look at after a failure."""
    for words in (
        ("get", "sj,pods", "-n", job.namespace, "-o", "wide"),
        ("describe", "sj", job.name, "-n", job.namespace),
        ("logs", f"{job.name}-driver", "-n", job.namespace, "--tail=60"),
        ("logs", "deploy/sluice", "-n", operator, "--tail=80"),
    ):
        print(f"--- kubectl {' '.join(words)}\n{cluster.kubectl(*words, check=False)}")
