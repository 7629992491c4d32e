"""What the operator exports: of its own process, of all jobs together, and of each job.

What is told of each job is what the operator has seen and written last, so it goes on while a driver is down. What is
foreseen is told of jobs that are scaled only.
"""

from sluice.catalogue.metric import Metric, Scope

_process = Scope()
_job = Scope(("namespace", "job"))
_profile = Scope(("namespace", "job", "profile"))

_CALLS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

INFO = _process.gauge("sluice_operator_info", "The operator; always 1", "version")
LEADER = _process.gauge("sluice_operator_leader", "1 in the process that acts, 0 in one that waits")
QUEUE_LENGTH = _process.gauge(
    "sluice_operator_queue_length",
    "Jobs that wait to be looked at (reconcile) or to be asked (poll), or are just now",
    "queue",
)
RECONCILE_DURATION = _process.histogram(
    "sluice_operator_reconcile_duration_seconds", "Duration of one look at one job", buckets=_CALLS
)
RECONCILE_ERRORS = _process.counter(
    "sluice_operator_reconcile_errors_total", "Looks that ended by an error, by its kind", "kind"
)
API_REQUESTS = _process.counter(
    "sluice_operator_api_requests_total",
    "Requests to the Kubernetes API, without the watches; the result is ok, or the kind of the error",
    "verb",
    "resource",
    "result",
)
API_DURATION = _process.histogram(
    "sluice_operator_api_request_duration_seconds",
    "Duration of requests to the Kubernetes API, without the watches",
    "verb",
    buckets=_CALLS,
)
LAST_WATCH_EVENT = _process.gauge(
    "sluice_operator_last_watch_event_timestamp_seconds",
    "When the last event of a StreamJob or a pod came in; before the first one, when the process began",
)

PROCESS_METRICS: tuple[Metric, ...] = (
    INFO,
    LEADER,
    QUEUE_LENGTH,
    RECONCILE_DURATION,
    RECONCILE_ERRORS,
    API_REQUESTS,
    API_DURATION,
    LAST_WATCH_EVENT,
    _process.counter("process_cpu_seconds_total", "Time of processors that the process has used"),
    _process.gauge("process_resident_memory_bytes", "Memory that the process holds"),
    _process.gauge("process_virtual_memory_bytes", "Memory that the process has addresses for"),
    _process.gauge("process_start_time_seconds", "When the process began, Unix time"),
    _process.gauge("process_open_fds", "Files and connections that are open"),
    _process.gauge("process_max_fds", "Files and connections that may be open"),
)

JOBS = _process.gauge(
    "sluice_jobs", "StreamJobs in each phase; Unseen if the operator has not looked yet", "phase"
)
FLEET_METRICS: tuple[Metric, ...] = (JOBS,)

PHASE = _job.gauge("sluice_job_phase", "1 for the job's present phase", "phase")
CONDITION = _job.gauge(
    "sluice_job_condition", "1 while the condition is True, 0 while it is False", "type"
)
CREATED = _job.gauge("sluice_job_created_timestamp_seconds", "When the StreamJob was created")
DRIVER_STARTS = _job.counter("sluice_job_driver_starts_total", "Drivers that were ever started")
FAILURES_IN_A_ROW = _job.gauge(
    "sluice_job_failures_in_a_row", "Drivers that ended unasked, one after the other"
)
RECOVERIES = _job.counter(
    "sluice_job_recoveries_total", "Recoveries of the job that have ended, whatever their cause"
)
RECOVERY = _job.gauge(
    "sluice_job_last_recovery_seconds",
    "The last recovery, by its cause and its stages, each since the driver was gone: detection, container, session, "
    "firstBatch (the downtime), caughtUp (the recovery); drill is yes if it was one",
    "cause",
    "drill",
    "stage",
)
LAST_COMMIT = _job.gauge(
    "sluice_job_last_commit_timestamp_seconds",
    "When the last batch was committed, by this driver or one before it",
)
EXECUTORS_WANTED = _job.gauge("sluice_job_executors_wanted", "Executors that the job should have")
EXECUTORS_RUNNING = _job.gauge("sluice_job_executors_running", "Executor pods that run")
EXECUTORS_DESIRED = _job.gauge(
    "sluice_job_policy_executors",
    "Executors that the policy wished for in the newest decision, whatever kept it from having them",
)
EXECUTORS_DECIDED = _job.gauge(
    "sluice_job_decided_executors", "Executors that the newest decision leaves of that wish"
)
EXPECTED_LATENCY = _job.gauge(
    "sluice_job_expected_latency_seconds",
    "Latency, at the objective's percentile, that the newest decision expects",
)
LIKELY_RECOVERY = _job.gauge(
    "sluice_job_likely_recovery_seconds",
    "Recovery from a driver that is lost now, as likely more as less, by what was learned",
)
EXPECTED_RECOVERY = _job.gauge(
    "sluice_job_expected_recovery_seconds",
    "Recovery from a lost driver that the newest decision plans with: at the worst moment of its horizon, under the "
    "upper forecast",
)
DECISIONS = _job.counter(
    "sluice_job_decisions_total",
    "Decisions: changed, held (nothing else was wished for), or kept from a wish by a guard",
    "outcome",
    "guard",
)
RESCALES = _job.counter(
    "sluice_job_rescales_total", "Changes of the executors that were decided, by their way", "path"
)
RESCALES_JUDGED = _job.counter(
    "sluice_job_rescales_judged_total",
    "Changes of the executors whose effect was judged when it had settled: Good, Harmful (these are undone), or "
    "Inconclusive",
    "verdict",
)
FORECAST = _job.gauge(
    "sluice_job_forecast_rows_per_second",
    "Load that is expected in five minutes (rate), and the range in which four of five lie (low, high)",
    "bound",
)
CAPACITY = _job.gauge(
    "sluice_job_capacity_rows_per_second",
    "What the present executors can process by what was learned (rate), and the range of its error (low, high)",
    "bound",
)
PREDICTED_RECOVERY = _job.gauge(
    "sluice_job_last_loss_likely_recovery_seconds",
    "Recovery that was likely when a driver was last lost, to compare with the last recovery",
)
SLO_OBJECTIVE = _job.gauge(
    "sluice_job_slo_objective_ratio", "Share of the time in which the bounds are to hold"
)
SLO_WINDOW = _job.gauge(
    "sluice_job_slo_window_seconds", "Length of the window that the objective is taken over"
)
SLO_LATENCY_BOUND = _job.gauge(
    "sluice_job_slo_latency_bound_seconds", "Bound on the record latency"
)
SLO_LATENCY_SHARE = _job.gauge(
    "sluice_job_slo_latency_share_ratio", "Share of the rows that must be within the latency bound"
)
SLO_LATENCY_WEIGHT = _job.gauge(
    "sluice_job_slo_latency_bucket_weight",
    "What a latency bucket counts for the rows within the bound, as histogram_quantile interpolates",
    "le",
)
SLO_THROUGHPUT = _job.gauge(
    "sluice_job_slo_throughput_rows_per_second", "Rate that must be processed while so much arrives"
)
SLO_FRESHNESS_BOUND = _job.gauge(
    "sluice_job_slo_freshness_bound_seconds",
    "Longest time that a query may commit nothing while rows wait",
)
RECOVERY_TARGET = _job.gauge(
    "sluice_job_recovery_target_seconds", "Longest time from a failure until the job has caught up"
)

JOB_METRICS: tuple[Metric, ...] = (
    PHASE,
    CONDITION,
    CREATED,
    DRIVER_STARTS,
    FAILURES_IN_A_ROW,
    RECOVERIES,
    RECOVERY,
    LAST_COMMIT,
    EXECUTORS_WANTED,
    EXECUTORS_RUNNING,
    EXECUTORS_DESIRED,
    EXECUTORS_DECIDED,
    EXPECTED_LATENCY,
    LIKELY_RECOVERY,
    EXPECTED_RECOVERY,
    DECISIONS,
    RESCALES,
    RESCALES_JUDGED,
    FORECAST,
    CAPACITY,
    PREDICTED_RECOVERY,
    SLO_OBJECTIVE,
    SLO_WINDOW,
    SLO_LATENCY_BOUND,
    SLO_LATENCY_SHARE,
    SLO_LATENCY_WEIGHT,
    SLO_THROUGHPUT,
    SLO_FRESHNESS_BOUND,
    RECOVERY_TARGET,
)

PROFILE_SPENT = _profile.gauge(
    "sluice_profile_core_seconds", "Core-seconds that the copies of a profile under way have taken"
)
PROFILE_BUDGET = _profile.gauge(
    "sluice_profile_budget_core_seconds", "Core-seconds that a profile under way may take"
)

PROFILE_METRICS: tuple[Metric, ...] = (PROFILE_SPENT, PROFILE_BUDGET)
