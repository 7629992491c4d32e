"""The operator's own work: is it led, does it keep up, what goes wrong, what does it cost."""

from dashboards.panels import Dashboard, Kind, Limits, Panel, Query, Row, Selection, Unit

_SLOW: Limits = ((None, "green"), (0.5, "yellow"), (2, "red"))
_LONG_QUEUE: Limits = ((None, "green"), (100, "yellow"), (1000, "red"))
_NEARLY_FULL: Limits = ((None, "green"), (0.5, "yellow"), (0.9, "red"))


def _quantiles(histogram: str, by: str = "") -> tuple[Query, ...]:
    """The middle and the slow end of durations over five minutes."""
    grouped = f"le, {by}" if by else "le"
    legend = f" {{{{{by}}}}}" if by else ""
    # Of no requests at all, a quantile would be NaN.
    some = f"and on ({by}) sum by ({by}) (rate({histogram}_count[5m])) > 0"
    buckets = f"sum by ({grouped}) (rate({histogram}_bucket[5m])) {some}"
    return tuple(
        Query(f"histogram_quantile({quantile}, {buckets})", f"p{100 * quantile:g}{legend}")
        for quantile in (0.5, 0.99)
    )


_NOW = Row(
    "Now",
    (
        Panel(
            title="Leaders",
            description="Operators that act, at most, of an installation. There is to be exactly one of each.",
            # Of an operator that is gone there is no series, and Grafana would go on to show its last number.
            queries=(Query("max(sum by (namespace) (sluice_operator_leader)) or vector(0)"),),
            unit=Unit.COUNT,
            limits=((None, "red"), (1, "green"), (2, "red")),
            kind=Kind.NUMBER,
            width=6,
        ),
        Panel(
            title="Since the last event",
            description="Time since a watch brought the leader anything. Each status that it writes comes back.",
            queries=(
                Query(
                    "time() - max(sluice_operator_last_watch_event_timestamp_seconds"
                    " and sluice_operator_leader == 1)"
                ),
            ),
            unit=Unit.SECONDS,
            limits=((None, "green"), (600, "yellow")),
            kind=Kind.NUMBER,
            width=6,
        ),
        Panel(
            title="Waiting or in work",
            description="Jobs that wait to be looked at, or are just being looked at.",
            queries=(Query('sum(sluice_operator_queue_length{queue="reconcile"})'),),
            unit=Unit.COUNT,
            limits=_LONG_QUEUE,
            kind=Kind.NUMBER,
            width=6,
        ),
        Panel(
            title="Looks that fail",
            description="Share of all looks at jobs that end by an error; conflicts are the way of working.",
            queries=(
                Query(
                    '(sum(rate(sluice_operator_reconcile_errors_total{kind!="Conflict"}[5m])) or vector(0))'
                    " / sum(rate(sluice_operator_reconcile_duration_seconds_count[5m]))"
                ),
            ),
            unit=Unit.SHARE,
            limits=((None, "green"), (0.01, "yellow"), (0.1, "red")),
            kind=Kind.NUMBER,
            width=6,
        ),
    ),
)

_WORK = Row(
    "Work",
    (
        Panel(
            title="Duration of a look",
            description="One look at one job: read, decide, write the status, act.",
            queries=_quantiles("sluice_operator_reconcile_duration_seconds"),
            unit=Unit.SECONDS,
            limits=_SLOW,
        ),
        Panel(
            title="Looks and errors",
            description="Looks at jobs each second, and those that end by an error, by its kind.",
            queries=(
                Query("sum(rate(sluice_operator_reconcile_duration_seconds_count[5m]))", "looks"),
                Query(
                    "sum by (kind) (rate(sluice_operator_reconcile_errors_total[5m]))", "{{kind}}"
                ),
            ),
            unit=Unit.PER_SECOND,
        ),
        Panel(
            title="Queues",
            description="Jobs that wait to be looked at (reconcile), and agents to be asked (poll).",
            queries=(Query("sum by (queue) (sluice_operator_queue_length)", "{{queue}}"),),
            unit=Unit.COUNT,
            limits=_LONG_QUEUE,
        ),
        Panel(
            title="Requests to the API server",
            description="By verb and kind of object, without the watches.",
            queries=(
                Query(
                    "sum by (verb, resource) (rate(sluice_operator_api_requests_total[5m])) > 0",
                    "{{verb}} {{resource}}",
                ),
            ),
            unit=Unit.PER_SECOND,
            kind=Kind.STACK,
        ),
        Panel(
            title="Results of requests",
            description="Conflict and NotFound are the way of working; InvalidSpec and ClusterUnavailable are not.",
            queries=(
                Query(
                    "sum by (result) (rate(sluice_operator_api_requests_total[5m]))", "{{result}}"
                ),
            ),
            unit=Unit.PER_SECOND,
        ),
        Panel(
            title="Duration of requests",
            description="How long the API server takes to answer, by verb.",
            queries=_quantiles("sluice_operator_api_request_duration_seconds", "verb"),
            unit=Unit.SECONDS,
            limits=_SLOW,
        ),
    ),
)

_COST = Row(
    "Cost",
    (
        Panel(
            title="Memory",
            description="What the operators' processes hold.",
            queries=(
                Query(
                    "process_resident_memory_bytes and on (instance) sluice_operator_info",
                    "{{instance}}",
                ),
            ),
            unit=Unit.BYTES,
            limits=((None, "green"), (400 * 2**20, "yellow"), (500 * 2**20, "red")),
        ),
        Panel(
            title="Processors",
            description="Cores that the operators' processes use.",
            queries=(
                Query(
                    "rate(process_cpu_seconds_total[5m]) and on (instance) sluice_operator_info",
                    "{{instance}}",
                ),
            ),
            unit=Unit.CORES,
            limits=_NEARLY_FULL,
        ),
        Panel(
            title="Files and connections",
            description="Open ones, as a share of those that may be open.",
            queries=(
                Query(
                    "process_open_fds / process_max_fds and on (instance) sluice_operator_info",
                    "{{instance}}",
                ),
            ),
            unit=Unit.SHARE,
            limits=_NEARLY_FULL,
        ),
    ),
)

OPERATOR = Dashboard(
    name="operator",
    title="Sluice / Operator",
    description="The operator's own work: leadership, queues, errors, requests, memory.",
    selection=Selection.NONE,
    rows=(_NOW, _WORK, _COST),
)
