"""One job: does it meet its objective, how far behind is it, and what is being done about it."""

from dashboards.panels import (
    Dashboard,
    Event,
    Kind,
    Limits,
    Panel,
    Query,
    Row,
    Selection,
    Unit,
)

_JOB = '{namespace="$namespace", job="$job"}'
_ALL_BOUNDS = '{namespace="$namespace", job="$job", sli="all"}'
_CAUGHT_UP = '{namespace="$namespace", job="$job", stage="caughtUp", cause=~"DriverLoss|NodeLoss"}'
_HOLDS: Limits = ((None, "red"), (1, "green"))
_MINUTES: Limits = ((None, "green"), (60, "yellow"), (300, "red"))


def _latency(quantile: float) -> Query:
    name = "sluice_query_record_latency_seconds"
    rows = f"sum by (le) (rate({name}_bucket{_JOB}[5m]))"
    # Of no rows at all, a quantile would be NaN.
    some = f"and on () sum(rate({name}_count{_JOB}[5m])) > 0"
    return Query(f"histogram_quantile({quantile}, {rows} {some})", f"p{100 * quantile:g}")


def _foreseen(bound: str) -> str:
    """What was expected of the present moment."""
    return f"max(sluice_job_forecast_rows_per_second{_bound(bound)} offset 5m)"


def _capacity(bound: str) -> str:
    return f"max(sluice_job_capacity_rows_per_second{_bound(bound)})"


def _bound(bound: str) -> str:
    return f'{{namespace="$namespace", job="$job", bound="{bound}"}}'


def _changed(metric: str) -> str:
    """Whether a number has changed in the minute that a mark stands for."""
    # A second more than that: Prometheus 3 leaves out the beginning of a range, and with it what changed just after.
    return f"changes(max({metric}{_JOB})[61s:15s]) > 0"


_OBJECTIVE = Row(
    "Objective",
    (
        Panel(
            title="Attainment, 28 days",
            description="Share of the minutes in which all declared bounds held. Unknown minutes are left out.",
            queries=(Query(f"job:sluice_slo_attainment:ratio28d{_ALL_BOUNDS}"),),
            unit=Unit.SHARE,
            limits=((None, "red"), (0.9, "yellow"), (0.99, "green")),
            kind=Kind.NUMBER,
            width=6,
        ),
        Panel(
            title="Error budget left, 28 days",
            description="Share of the bad minutes that the objective still allows. Negative: it is missed.",
            queries=(Query(f"job:sluice_slo_budget_left:ratio28d{_ALL_BOUNDS}"),),
            unit=Unit.SHARE,
            limits=((None, "red"), (0, "yellow"), (0.25, "green")),
            kind=Kind.NUMBER,
            width=6,
        ),
        Panel(
            title="Unknown, 28 days",
            description="Share of the minutes of which nothing is known: gaps of Prometheus, or a suspended job.",
            queries=(Query(f"job:sluice_slo_unknown:ratio28d{_ALL_BOUNDS}"),),
            unit=Unit.SHARE,
            limits=((None, "green"), (0.01, "yellow"), (0.1, "red")),
            kind=Kind.NUMBER,
            width=6,
        ),
        Panel(
            title="Since the last commit",
            description="Age of the last committed batch, of this driver or one before it.",
            queries=(Query(f"time() - max(sluice_job_last_commit_timestamp_seconds{_JOB})"),),
            unit=Unit.SECONDS,
            limits=_MINUTES,
            kind=Kind.NUMBER,
            width=6,
        ),
        Panel(
            title="Bounds",
            description="Each minute: red where the bound was missed, nothing where it is not known.",
            queries=(Query(f"job:sluice_slo_good:slice{_JOB}", "{{sli}}"),),
            unit=Unit.STATE,
            limits=_HOLDS,
            kind=Kind.STATES,
            width=12,
        ),
        Panel(
            title="Burn rate",
            description="How many times as fast as the objective allows the error budget is spent, over an hour "
            "and over six. At 1 it lasts for just one window. Where that over an hour stays above the third line, "
            "somebody is called: 2 % of the budget is gone in an hour.",
            queries=(
                Query(f"job:sluice_slo_burn_rate:ratio1h{_ALL_BOUNDS}", "1 h"),
                Query(f"job:sluice_slo_burn_rate:ratio6h{_ALL_BOUNDS}", "6 h"),
                Query(
                    f"clamp_min(0.02 * max(sluice_job_slo_window_seconds{_JOB}) / 3600, 1)",
                    "called",
                ),
            ),
            unit=Unit.FACTOR,
            limits=((None, "green"), (1, "yellow")),
            width=12,
        ),
    ),
)

_FLOW = Row(
    "Flow",
    (
        Panel(
            title="Load",
            description="Rows that arrive at the sources, by their newest offsets, and rows that are processed.",
            queries=(
                Query(f"sum(sluice_query_arrival_rows_per_second{_JOB})", "arriving"),
                Query(f"sum(rate(sluice_query_input_rows_total{_JOB}[5m]))", "processed"),
                Query(f"max(sluice_job_slo_throughput_rows_per_second{_JOB})", "objective"),
            ),
            unit=Unit.ROWS_PER_SECOND,
        ),
        Panel(
            title="Record latency",
            description="From a record's timestamp to the commit of its batch, over five minutes, and the bound.",
            queries=(
                _latency(0.5),
                _latency(0.95),
                _latency(0.99),
                Query(f"max(sluice_job_slo_latency_bound_seconds{_JOB})", "bound"),
            ),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="Rows within the bound",
            description="Share of the committed rows whose latency was within the bound, and the share that must be.",
            queries=(
                Query(f"job:sluice_record_latency_within_bound:ratio_rate2m{_JOB}", "within"),
                Query(f"max(sluice_job_slo_latency_share_ratio{_JOB})", "objective"),
            ),
            unit=Unit.SHARE,
        ),
        Panel(
            title="Lag, rows",
            description="Rows that have arrived and are not committed, of each query.",
            queries=(Query(f"sum by (query) (sluice_query_backlog_rows{_JOB})", "{{query}}"),),
            unit=Unit.COUNT,
            width=6,
        ),
        Panel(
            title="Lag, time",
            description="How long the oldest row waits that is not committed, of each query.",
            queries=(Query(f"max by (query) (sluice_query_backlog_seconds{_JOB})", "{{query}}"),),
            unit=Unit.SECONDS,
            limits=_MINUTES,
            width=6,
        ),
        Panel(
            title="Retention",
            description="Share of the rows that Kafka keeps which waits, of each query: at 1 rows expire unread.",
            queries=(
                Query(f"max by (query) (sluice_query_retention_used_ratio{_JOB})", "{{query}}"),
            ),
            unit=Unit.SHARE,
            limits=((None, "green"), (0.5, "yellow"), (0.8, "red")),
            width=6,
        ),
        Panel(
            title="Juice",
            description="Processed over arrived, whatever the rate: below 1 the lag grows, above 1 it shrinks.",
            queries=(Query(f"job:sluice_juice:ratio_rate5m{_JOB}", "juice"),),
            unit=Unit.SHARE,
            limits=((None, "red"), (0.5, "yellow"), (0.95, "green")),
            width=6,
        ),
    ),
)

_BATCHES = Row(
    "Batches",
    (
        Panel(
            title="Phases of the last batch",
            description="Where a batch spends its time, of all queries.",
            queries=(
                Query(
                    'sum by (phase) (sluice_query_last_batch_duration_seconds{namespace="$namespace", '
                    'job="$job", phase!="trigger_execution"})',
                    "{{phase}}",
                ),
            ),
            unit=Unit.SECONDS,
            kind=Kind.STACK,
        ),
        Panel(
            title="Batch in flight",
            description="How long the batch that runs now has been running; one that only grows hangs.",
            queries=(
                Query(f"max by (query) (sluice_query_batch_in_flight_seconds{_JOB})", "{{query}}"),
            ),
            unit=Unit.SECONDS,
            limits=_MINUTES,
        ),
        Panel(
            title="Batches per minute",
            description="Committed batches, of each query.",
            queries=(
                Query(
                    f"60 * sum by (query) (rate(sluice_query_batches_total{_JOB}[5m]))", "{{query}}"
                ),
            ),
            unit=Unit.COUNT,
        ),
    ),
)

_RUNNING = Row(
    "Driver and executors",
    (
        Panel(
            title="Executors",
            description="How many should be there, pods that run, and those that can be given tasks.",
            queries=(
                Query(f"max(sluice_job_executors_wanted{_JOB})", "wanted"),
                Query(f"max(sluice_job_executors_running{_JOB})", "running"),
                Query(f"max(sluice_executors_registered{_JOB})", "registered"),
            ),
            unit=Unit.COUNT,
        ),
        Panel(
            title="Driver starts and failures",
            description="Incarnations of the driver within an hour, and failures in a row.",
            queries=(
                Query(
                    f"increase(max(sluice_job_driver_starts_total{_JOB})[1h:1m])", "starts in 1 h"
                ),
                Query(f"max(sluice_job_failures_in_a_row{_JOB})", "failures in a row"),
            ),
            unit=Unit.COUNT,
            limits=((None, "green"), (1, "yellow"), (3, "red")),
        ),
        Panel(
            title="Conditions",
            description="The conditions of the StreamJob: red is False, nothing is Unknown.",
            queries=(Query(f"max by (type) (sluice_job_condition{_JOB})", "{{type}}"),),
            unit=Unit.STATE,
            limits=_HOLDS,
            kind=Kind.STATES,
        ),
    ),
)

_STATE = Row(
    "State and event time",
    (
        Panel(
            title="Rows in state",
            description="Rows that the query remembers. What only grows has no watermark.",
            queries=(Query(f"sum by (query) (sluice_query_state_rows{_JOB})", "{{query}}"),),
            unit=Unit.COUNT,
        ),
        Panel(
            title="Memory of state",
            description="Memory that the state uses, on all executors together.",
            queries=(Query(f"sum by (query) (sluice_query_state_bytes{_JOB})", "{{query}}"),),
            unit=Unit.BYTES,
        ),
        Panel(
            title="Event time",
            description="Age of the watermark and of the newest event time.",
            queries=(
                Query(f"max(sluice_query_watermark_lag_seconds{_JOB})", "watermark"),
                Query(f"max(sluice_query_event_time_lag_seconds{_JOB})", "newest event"),
            ),
            unit=Unit.SECONDS,
        ),
    ),
)

_SCALING = Row(
    "Scaling, where spec.scaling.mode is not Off",
    (
        Panel(
            title="Load and forecast",
            description="Rows that arrive, what was expected of this moment five minutes before, with the range in "
            "which four of five should lie, and what the present executors can process.",
            queries=(
                Query(f"sum(sluice_query_arrival_rows_per_second{_JOB})", "arriving"),
                Query(_foreseen("rate"), "expected"),
                Query(_foreseen("low"), "expected at least"),
                Query(_foreseen("high"), "expected at most"),
                Query(_capacity("rate"), "capacity"),
                Query(_capacity("low"), "capacity at least"),
            ),
            unit=Unit.ROWS_PER_SECOND,
            width=12,
        ),
        Panel(
            title="Executors, wished for and there",
            description="What the policy wishes for, what its guards leave of that, what the job is to have, and pods "
            "that run. A wish apart from the decision is kept by a guard.",
            queries=(
                Query(f"max(sluice_job_policy_executors{_JOB})", "wished for"),
                Query(f"max(sluice_job_decided_executors{_JOB})", "decided"),
                Query(f"max(sluice_job_executors_wanted{_JOB})", "to have"),
                Query(f"max(sluice_job_executors_running{_JOB})", "running"),
            ),
            unit=Unit.COUNT,
            width=12,
        ),
        Panel(
            title="Recovery, expected and measured",
            description="How long a lost driver would take now, as likely more as less, and at the worst moment of the "
            "horizon, which is planned with; what was likely when one was last lost, how long the last recovery took, "
            "and the target.",
            queries=(
                Query(f"max(sluice_job_likely_recovery_seconds{_JOB})", "likely now"),
                Query(f"max(sluice_job_expected_recovery_seconds{_JOB})", "planned with"),
                Query(f"max(sluice_job_last_loss_likely_recovery_seconds{_JOB})", "likely then"),
                Query(f"max(sluice_job_last_recovery_seconds{_CAUGHT_UP})", "measured"),
                Query(f"max(sluice_job_recovery_target_seconds{_JOB})", "target"),
            ),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="Latency, expected and measured",
            description="What the newest decision expects at the objective's percentile, p95 of five minutes, and the "
            "bound.",
            queries=(
                Query(f"max(sluice_job_expected_latency_seconds{_JOB})", "expected"),
                _latency(0.95),
                Query(f"max(sluice_job_slo_latency_bound_seconds{_JOB})", "bound"),
            ),
            unit=Unit.SECONDS,
        ),
        Panel(
            title="Decisions per hour",
            description="What became of the policy's wishes; those that were kept are told with the guard.",
            queries=(
                Query(
                    f"sum by (outcome, guard) (increase(sluice_job_decisions_total{_JOB}[1h]))",
                    "{{outcome}} {{guard}}",
                ),
            ),
            unit=Unit.COUNT,
            kind=Kind.STACK,
        ),
    ),
)

JOB = Dashboard(
    name="job",
    title="Sluice / Job",
    description="One streaming job: objective, load, latency, lag, executors, state.",
    selection=Selection.ONE,
    rows=(_OBJECTIVE, _FLOW, _SCALING, _BATCHES, _RUNNING, _STATE),
    events=(
        Event(
            title="Driver starts",
            expression=_changed("sluice_job_driver_starts_total"),
        ),
        Event(
            title="Rescales",
            expression=_changed("sluice_job_executors_wanted"),
        ),
    ),
)
