"""One examination of an installation, part by part; what may not be asked is a check that was skipped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice import __version__
from sluice.adapters.clock import SystemClock
from sluice.api import crds
from sluice.console import finding
from sluice.console.cluster import path_of
from sluice.console.doctor import asking, installed, working
from sluice.console.doctor.checks import Check, fine, odd, unknown
from sluice.console.gathering import Reader
from sluice.console.installation import Installation, installations
from sluice.console.job import Job
from sluice.console.prometheus import Prometheus, address, source_of
from sluice.console.trouble import NotAllowed, NotThere, Trouble
from sluice.errors import MetricsUnavailable
from sluice.ports import LEASES, Json, Resource

CRDS = Resource("apiextensions.k8s.io/v1", "customresourcedefinitions")

_NO_PROMETHEUS = "Set prometheus.url in the chart: without it objectives are not measured"


@dataclass(slots=True)
class Examination:
    """The parts build on each other: iterate over each before the next one is taken.

    `home` is the only namespace in which operators are looked for; None for all.
    """

    reader: Reader
    home: str | None = None
    operators: Sequence[Installation] = ()
    jobs: Sequence[Job] = ()

    def parts(self) -> Iterator[tuple[str, Iterator[Check]]]:
        """The parts with their checks, which are made while they are iterated over."""
        yield "Cluster", self._cluster()
        yield "Installation", self._installation()
        yield "Rights", self._rights()
        yield "Jobs", self._jobs()
        yield "Metrics", self._metrics()

    def _cluster(self) -> Iterator[Check]:
        cluster = self.reader.cluster
        version = cluster.get("/version")["gitVersion"]
        yield fine("API server", f"{version} answers at {cluster.server}")
        yield working.clock_check("Clock", "the API server", cluster.clock)

    def _installation(self) -> Iterator[Check]:
        yield from map(self._crd, crds.KINDS)
        try:
            self.operators = installations(self.reader.cluster, self.home)
        except NotAllowed as error:
            remedy = "Name the operator's namespace with --operator-namespace"
            yield unknown("Operator", str(error.args[0]), remedy)
            return
        yield from installed.operator_checks(self.operators)
        for one in self.operators:
            yield self._lease(one)

    def _crd(self, kind: crds.Kind) -> Check:
        try:
            found = self.reader.cluster.get(path_of(CRDS, None, kind.crd_name))
            return installed.crd_check(kind, found)
        except NotThere:
            return installed.crd_check(kind, None)
        except NotAllowed as error:
            return unknown("CRD", str(error.args[0]))

    def _lease(self, one: Installation) -> Check:
        cluster = self.reader.cluster
        try:
            lease = cluster.get(path_of(LEASES, one.namespace, installed.LEASE))
        except NotThere:
            lease = None
        except NotAllowed as error:
            return unknown("Leader", str(error.args[0]))
        now = cluster.clock.shown if cluster.clock is not None else SystemClock().now()
        return installed.lease_check(one, lease, now)

    def _rights(self) -> Iterator[Check]:
        reader = self.reader
        return asking.rights_checks(reader.cluster, self.operators, reader.namespace)

    def _jobs(self) -> Iterator[Check]:
        try:
            self.jobs = [Job(one) for one in self._listed()]
        except Trouble as error:
            yield unknown("Jobs", str(error.args[0]))
            return
        # Of one namespace's operators nobody knows whose the other jobs are.
        yield from working.jobs_checks(self.jobs, () if self.home else self.operators)

    def _listed(self) -> list[Json]:
        """The jobs of the cluster; of the person's namespace if that is all that they may see."""
        try:
            return finding.jobs(self.reader.cluster, None)
        except NotAllowed:
            return finding.jobs(self.reader.cluster, self.reader.namespace)

    def _metrics(self) -> Iterator[Check]:
        if not self.operators:
            # Whoever may not read their Deployments names a Prometheus, which is asked about all jobs.
            yield from self._measured(self.reader.url, (), self.jobs)
            return
        named = [(self.reader.url or one.prometheus, one) for one in self.operators]
        for url in dict.fromkeys(url for url, _ in named):
            concerned = [one for its, one in named if its == url]
            jobs = [job for job in self.jobs if _is_looked_after(job, concerned)]
            yield from self._measured(url, concerned, jobs)

    def _measured(
        self, url: str | None, operators: Sequence[Installation], jobs: Sequence[Job]
    ) -> Iterator[Check]:
        """What the Prometheus of these operators knows of the jobs that they look after."""
        try:
            prometheus = Prometheus(source_of(url or address(operators, None), self.reader.cluster))
        except MetricsUnavailable as error:
            yield odd("Prometheus", str(error), _NO_PROMETHEUS)
            return
        version = operators[0].version if operators else __version__
        yield from asking.metrics_checks(prometheus, jobs, version)


def _is_looked_after(job: Job, operators: Sequence[Installation]) -> bool:
    return any(one.looks_after(job.namespace) for one in operators)
