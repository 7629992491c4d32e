"""All jobs at a glance: who misses the objective, who falls behind, who restarts."""

from dashboards.panels import (
    Column,
    Dashboard,
    Kind,
    Limits,
    Panel,
    Query,
    Row,
    Selection,
    Table,
    Unit,
)

_SELECTED = '{namespace=~"$namespace", job=~"$job"}'
_ALL_BOUNDS = '{namespace=~"$namespace", job=~"$job", sli="all"}'
_READY = '{namespace=~"$namespace", job=~"$job", type="Ready"}'
_KEPT = '{namespace=~"$namespace", job=~"$job", outcome="kept"}'
_NONE_IS_GOOD: Limits = ((None, "green"), (1, "red"))
_BUDGET: Limits = ((None, "red"), (0, "yellow"), (0.25, "green"))
_MINUTES: Limits = ((None, "green"), (60, "yellow"), (300, "red"))
_TEN_WORST = "The ten worst; the table has all."


def _failing(verdicts: str) -> str:
    """How many are 0; where nothing is known of any, nothing, for that is no good news."""
    return f"count({verdicts} == 0) or 0 * count({verdicts})"


_NOW = Row(
    "Now",
    (
        Panel(
            title="Jobs",
            description="StreamJobs that the operator looks after.",
            queries=(Query(f"count(max by (namespace, job) (sluice_job_phase{_SELECTED}))"),),
            unit=Unit.COUNT,
            kind=Kind.NUMBER,
            width=4,
        ),
        Panel(
            title="Not ready",
            description="Jobs that do not run as declared: their condition Ready is False.",
            queries=(Query(_failing(f"max by (namespace, job) (sluice_job_condition{_READY})")),),
            unit=Unit.COUNT,
            limits=_NONE_IS_GOOD,
            kind=Kind.NUMBER,
            width=5,
        ),
        Panel(
            title="Missing their bounds",
            description="Jobs of which the last minute was bad: not available, too late, or too slow.",
            queries=(Query(_failing(f"job:sluice_slo_good:slice{_ALL_BOUNDS}")),),
            unit=Unit.COUNT,
            limits=_NONE_IS_GOOD,
            kind=Kind.NUMBER,
            width=5,
        ),
        Panel(
            title="Least error budget left",
            description="Of all jobs with an objective, over 28 days. Negative: the objective is missed.",
            queries=(Query(f"min(job:sluice_slo_budget_left:ratio28d{_ALL_BOUNDS})"),),
            unit=Unit.SHARE,
            limits=_BUDGET,
            kind=Kind.NUMBER,
            width=5,
        ),
        Panel(
            title="Executors, running and wanted",
            description="Executor pods of all jobs together.",
            queries=(
                Query(
                    f"sum(max by (namespace, job) (sluice_job_executors_running{_SELECTED}))",
                    "running",
                ),
                Query(
                    f"sum(max by (namespace, job) (sluice_job_executors_wanted{_SELECTED}))",
                    "wanted",
                ),
            ),
            unit=Unit.COUNT,
            kind=Kind.NUMBER,
            width=5,
        ),
    ),
)

_TABLE = Row(
    "Jobs",
    (
        Table(
            title="Jobs",
            description="One line for each job that the operator has looked at. A click on a name opens its page.",
            columns=(
                Column(
                    title="Ready",
                    expression=f"max by (namespace, job) (sluice_job_condition{_READY})",
                    unit=Unit.STATE,
                    limits=((None, "red"), (1, "green")),
                ),
                Column(
                    title="Attainment, 28 d",
                    expression=f"max by (namespace, job) (job:sluice_slo_attainment:ratio28d{_ALL_BOUNDS})",
                    unit=Unit.SHARE,
                    limits=((None, "red"), (0.9, "yellow"), (0.99, "green")),
                ),
                Column(
                    title="Budget left",
                    expression=f"max by (namespace, job) (job:sluice_slo_budget_left:ratio28d{_ALL_BOUNDS})",
                    unit=Unit.SHARE,
                    limits=_BUDGET,
                ),
                Column(
                    title="Burn rate, 1 h",
                    expression=f"max by (namespace, job) (job:sluice_slo_burn_rate:ratio1h{_ALL_BOUNDS})",
                    unit=Unit.FACTOR,
                    limits=((None, "green"), (1, "yellow"), (13.44, "red")),
                ),
                Column(
                    title="Lag, rows",
                    expression=f"max by (namespace, job) (job:sluice_backlog_rows:sum{_SELECTED})",
                    unit=Unit.COUNT,
                ),
                Column(
                    title="Lag, time",
                    expression=f"max by (namespace, job) (job:sluice_backlog_seconds:max{_SELECTED})",
                    unit=Unit.SECONDS,
                    limits=_MINUTES,
                ),
                Column(
                    title="Arriving",
                    expression=f"sum by (namespace, job) (sluice_query_arrival_rows_per_second{_SELECTED})",
                    unit=Unit.ROWS_PER_SECOND,
                ),
                Column(
                    title="Executors",
                    expression=f"max by (namespace, job) (sluice_job_executors_running{_SELECTED})",
                    unit=Unit.COUNT,
                ),
                Column(
                    title="Wanted",
                    expression=f"max by (namespace, job) (sluice_job_executors_wanted{_SELECTED})",
                    unit=Unit.COUNT,
                ),
                Column(
                    title="Failures in a row",
                    expression=f"max by (namespace, job) (sluice_job_failures_in_a_row{_SELECTED})",
                    unit=Unit.COUNT,
                    limits=((None, "green"), (1, "yellow"), (3, "red")),
                ),
            ),
        ),
    ),
)

_TRENDS = Row(
    "Over time",
    (
        Panel(
            title="Error budget left",
            description=f"Over 28 days. {_TEN_WORST}",
            queries=(
                Query(
                    f"bottomk(10, job:sluice_slo_budget_left:ratio28d{_ALL_BOUNDS})",
                    "{{namespace}}/{{job}}",
                ),
            ),
            unit=Unit.SHARE,
            limits=_BUDGET,
        ),
        Panel(
            title="Lag",
            description=f"How long the oldest row waits that is not committed. {_TEN_WORST}",
            queries=(
                Query(
                    f"topk(10, job:sluice_backlog_seconds:max{_SELECTED})", "{{namespace}}/{{job}}"
                ),
            ),
            unit=Unit.SECONDS,
            limits=_MINUTES,
        ),
        Panel(
            title="Load",
            description="Rows that arrive, in all jobs, and rows that are admitted into batches.",
            queries=(
                Query(f"sum(sluice_query_arrival_rows_per_second{_SELECTED})", "arriving"),
                Query(f"sum(rate(sluice_query_input_rows_total{_SELECTED}[5m]))", "processed"),
            ),
            unit=Unit.ROWS_PER_SECOND,
        ),
        Panel(
            title="Phases",
            description="How many jobs are in which phase.",
            queries=(
                Query(
                    f"count by (phase) (max by (namespace, job, phase) (sluice_job_phase{_SELECTED}))",
                    "{{phase}}",
                ),
            ),
            unit=Unit.COUNT,
            kind=Kind.STACK,
        ),
        Panel(
            title="Executors",
            description="Executor pods of all jobs together.",
            queries=(
                Query(
                    f"sum(max by (namespace, job) (sluice_job_executors_running{_SELECTED}))",
                    "running",
                ),
                Query(
                    f"sum(max by (namespace, job) (sluice_job_executors_wanted{_SELECTED}))",
                    "wanted",
                ),
            ),
            unit=Unit.COUNT,
        ),
        Panel(
            title="Driver starts per day",
            description="New incarnations of drivers in the last day, for whatever reason.",
            queries=(
                Query(
                    "topk(10, increase("
                    f"max by (namespace, job) (sluice_job_driver_starts_total{_SELECTED})[1d:5m]))",
                    "{{namespace}}/{{job}}",
                ),
            ),
            unit=Unit.COUNT,
            limits=((None, "green"), (10, "yellow"), (50, "red")),
        ),
        Panel(
            title="Rescales per day",
            description="Changes of the executors that the operator has decided in the last day, of scaled jobs.",
            queries=(
                Query(
                    "topk(10, sum by (namespace, job) "
                    f"(increase(sluice_job_rescales_total{_SELECTED}[1d])))",
                    "{{namespace}}/{{job}}",
                ),
            ),
            unit=Unit.COUNT,
            limits=((None, "green"), (50, "yellow"), (200, "red")),
        ),
        Panel(
            title="Kept decisions per day",
            description="Wishes for other executors that were not done in the last day, by the guard that kept them.",
            queries=(
                Query(
                    f"sum by (guard) (increase(sluice_job_decisions_total{_KEPT}[1d]))",
                    "{{guard}}",
                ),
            ),
            unit=Unit.COUNT,
            kind=Kind.STACK,
        ),
    ),
)

FLEET = Dashboard(
    name="fleet",
    title="Sluice / Fleet",
    description="All streaming jobs: objectives, error budgets, lag, executors, restarts.",
    selection=Selection.MANY,
    rows=(_NOW, _TABLE, _TRENDS),
)
