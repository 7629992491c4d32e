"""Read all that a page shows. What is beside the job itself may be missing; the page then says why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.console import decisions, finding, queries, slo, trends
from sluice.console.cluster import Cluster
from sluice.console.decisions import Kept
from sluice.console.fleet import Fleet
from sluice.console.history import History
from sluice.console.installation import installations
from sluice.console.job import Job
from sluice.console.prometheus import Prometheus, address, source_of
from sluice.console.sight import Event, Lately, Sight, events_of
from sluice.console.trends import Trend
from sluice.console.trouble import NotAllowed, Trouble
from sluice.errors import MetricsUnavailable


@dataclass(frozen=True, slots=True)
class Reader:
    """A cluster, the namespace of which it is asked, and the address of a Prometheus if the person has named one."""

    cluster: Cluster
    namespace: str
    url: str | None = None

    def sight(self, name: str, span: timedelta, now: datetime) -> Sight:
        """All about one job. Raises Trouble if there is no such job."""
        job = Job(finding.job(self.cluster, self.namespace, name))
        events, lack = self._events(job)
        return Sight(
            job=job,
            now=now,
            lately=self._lately(job, span, now),
            events=events,
            events_lack=lack,
        )

    def fleet(self, namespace: str | None, span: timedelta, count: int, now: datetime) -> Fleet:
        """All jobs of a namespace or of the cluster, and their loads."""
        jobs = [Job(one) for one in finding.jobs(self.cluster, namespace)]
        slices = trends.slices_until(now, span, count)
        try:
            answer = self.prometheus(namespace).history(trends.load_question(namespace), slices)
        except MetricsUnavailable as error:
            return Fleet(jobs=jobs, now=now, namespace=namespace, lack=str(error))
        loads = trends.trends_by_job(answer, slices)
        return Fleet(jobs=jobs, now=now, namespace=namespace, loads=loads)

    def decision(self, name: str, id: str | None) -> tuple[Job, Kept]:
        """A job and one of its decisions, by default the newest. Raises Trouble if there is none."""
        job = Job(finding.job(self.cluster, self.namespace, name))
        return job, decisions.decision(self.cluster, job, id)

    def past(self, name: str) -> History:
        """A job and all decisions that are kept of it. Raises Trouble if there is no such job."""
        job = Job(finding.job(self.cluster, self.namespace, name))
        return History(job=job, decisions=decisions.decisions(self.cluster, job))

    def prometheus(self, namespace: str | None) -> Prometheus:
        """The server that knows of a namespace's jobs. Raises MetricsUnavailable if nobody names one."""
        return Prometheus(source_of(self.url or self._address(namespace), self.cluster))

    def _address(self, namespace: str | None) -> str:
        try:
            installed = installations(self.cluster)
        except NotAllowed as error:
            told = "you may not read the operator's Deployment, which names its Prometheus"
            raise MetricsUnavailable(f"{told}; name it with --prometheus") from error
        except Trouble as error:
            raise MetricsUnavailable(str(error)) from error
        return address(installed, namespace)

    def _lately(self, job: Job, span: timedelta, now: datetime) -> Lately:
        slices = trends.slices_until(now, span)
        percentile = slo.percentile(job.spec)
        asked = trends.questions(*job.key, percentile, slices.step)
        try:
            prometheus = self.prometheus(job.namespace)
            answers = {name: prometheus.history(one, slices) for name, one in asked.items()}
            each = prometheus.now(queries.question(*job.key, percentile))
            burning = prometheus.now(slo.burn_question(*job.key)) if slo.promise(job.spec) else []
        except MetricsUnavailable as error:
            return Lately(span=span, lack=str(error))
        known = {name: trends.trend(answer, slices) for name, answer in answers.items()}
        return Lately(
            span=span,
            trends=known,
            queries=queries.queries(each),
            burn_rate=burning[0].samples[-1][1] if burning else None,
            lack="" if _is_any(known) else "Prometheus knows nothing of this job",
        )

    def _events(self, job: Job) -> tuple[Sequence[Event], str]:
        uid = job.resource["metadata"]["uid"]
        try:
            return events_of(finding.events(self.cluster, *job.key, uid)), ""
        except Trouble as error:
            return (), str(error.args[0])


def _is_any(known: Mapping[str, Trend]) -> bool:
    return any(trend.largest is not None for trend in known.values())
