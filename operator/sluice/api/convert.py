"""From a stored StreamJob to the core's record, with everything checked that the schema could not.

The API server has already refused what the CRD's schema and rules forbid. What is left: objects stored before
a rule existed, the insides of pod templates, and combinations that a rule over one object cannot see.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any

from pydantic import ValidationError

from sluice.api.v1alpha1.application import Application as ApiApplication
from sluice.api.v1alpha1.application import Pod
from sluice.api.v1alpha1.objectives import CalendarEvent, Recovery, Slo
from sluice.api.v1alpha1.objectives import Scaling as ApiScaling
from sluice.api.v1alpha1.objectives import Window as ApiWindow
from sluice.api.v1alpha1.profiling import Profiling as ApiProfiling
from sluice.api.v1alpha1.running import Executors as ApiExecutors
from sluice.api.v1alpha1.streamjob import StreamJob as ApiStreamJob
from sluice.api.v1alpha1.streamjob import StreamJobSpec
from sluice.core import changes, quantities
from sluice.core.application import (
    TASK_CPUS,
    Application,
    Checkpoint,
    Executors,
    JobKey,
    KafkaSource,
    LatencyBound,
    PodShape,
    Profiling,
    RestartPolicy,
    Scaling,
    StreamJob,
)
from sluice.core.asking import ALLOW_MIGRATION, APPROVE, PAUSED, RESTART, RETRY
from sluice.core.deciding.situation import Mode
from sluice.core.drilling import records
from sluice.core.drilling.records import Drills, Victim
from sluice.core.forecasting.calendar import Event
from sluice.core.objectives.budget import Objective, window_of
from sluice.core.objectives.verdicts import Gaps
from sluice.core.podsecurity import template_problems
from sluice.core.quantities import MEBIBYTE, Bytes, Millicores
from sluice.core.windows import Window, time_zone
from sluice.errors import InvalidSpec, Problem

_VARIABLE_SOURCES = frozenset(
    ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef")
)

_MINIMUM_OVERHEAD = 384 * MEBIBYTE
_DRIVER_OVERHEAD_PERCENT = 40
_EXECUTOR_OVERHEAD_PERCENT = 10
_DRIVER_CPU = Millicores(500)


def spec_document(spec: object) -> dict[str, Any]:
    """A spec with all defaults filled in, as plain data.

    Raises InvalidSpec with every problem that the models find.
    """
    return _parse(spec).model_dump(mode="json", by_alias=True, exclude_none=True)


def streamjob(resource: Mapping[str, Any]) -> StreamJob:
    """Read a StreamJob as the API server gives it.

    Raises InvalidSpec with all problems at once.
    """
    metadata = resource["metadata"]
    annotations = metadata.get("annotations") or {}
    spec = _parse(resource.get("spec"))
    problems = [
        *_name_problems(metadata["name"]),
        *_pause_problems(annotations),
        *_environment_problems(spec.application),
        *_template_problems(spec),
        *_slot_problems(spec),
        *_calendar_problems(spec.scaling),
        *_window_problems(spec),
        *profile_places_problems(
            spec.profiling.namespaces, metadata["namespace"], "spec.profiling.namespaces"
        ),
    ]
    if problems:
        raise InvalidSpec(problems)
    document = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    return StreamJob(
        key=JobKey(metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        generation=metadata.get("generation", 1),
        created=datetime.fromisoformat(metadata["creationTimestamp"]),
        application=_application(spec.application, spec.executors),
        executors=_executors(spec.executors, int(_task_cpus(spec.application))),
        checkpoint=Checkpoint(
            claim=spec.checkpoint.claim,
            path=spec.checkpoint.path,
            uri=spec.checkpoint.uri,
            lease=timedelta(seconds=spec.checkpoint.lease_duration_seconds),
        ),
        sources=tuple(
            KafkaSource(
                bootstrap_servers=tuple(source.kafka.bootstrap_servers),
                topics=tuple(source.kafka.topics),
            )
            for source in spec.sources
        ),
        restart=RestartPolicy(
            initial=quantities.duration(spec.restart.initial_backoff),
            maximum=quantities.duration(spec.restart.maximum_backoff),
            factor=spec.restart.factor,
            failures=spec.restart.maximum_failures,
            reset_after=quantities.duration(spec.restart.reset_after),
            fences_lost_nodes=spec.restart.lost_node == "Fence",
            rollback_after=quantities.duration(spec.restart.rollback_after),
        ),
        suspend=spec.suspend,
        paused_by=f"the annotation {PAUSED}" if annotations.get(PAUSED) == "true" else None,
        allowed_migration=annotations.get(ALLOW_MIGRATION),
        objective=_objective(spec.slo),
        progress_deadline=quantities.duration(spec.progress_deadline),
        recovery_target=quantities.duration(spec.recovery.target) if spec.recovery else None,
        drills=_drills(spec.recovery),
        drill=_drill(annotations),
        latency=_latency(spec.slo),
        throughput=spec.slo.throughput.minimum if spec.slo and spec.slo.throughput else None,
        scaling=_scaling(spec.scaling),
        profiling=_profiling(spec.profiling),
        approved=metadata.get("annotations", {}).get(APPROVE),
        retry=annotations.get(RETRY),
        restart_asked=annotations.get(RESTART),
        not_in_force=tuple(_not_in_force(spec)),
        document=document,
        fingerprint=changes.fingerprint(document),
    )


def _parse(spec: object) -> StreamJobSpec:
    try:
        return StreamJobSpec.model_validate(spec)
    except ValidationError as error:
        raise InvalidSpec(problems_of(error)) from error


def problems_of(error: ValidationError) -> list[Problem]:
    """What a model has found wrong with a spec."""
    return [_problem(dict(one)) for one in error.errors()]


def _problem(error: dict[str, Any]) -> Problem:
    path = "spec"
    for part in error["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    if error["type"] == "rule":
        return Problem(f"{path}.{error['ctx']['field']}", None, error["msg"])
    value = error["input"] if isinstance(error["input"], str | int | float | bool) else None
    return Problem(path, value, error["msg"])


def _name_problems(name: str) -> Iterator[Problem]:
    for rule in ApiStreamJob.object_rules:
        if not rule.check(name):
            yield Problem(rule.field, None, rule.told(name))


def _pause_problems(annotations: Mapping[str, str]) -> Iterator[Problem]:
    """Whoever writes something else means something, and would not learn that it has no effect."""
    value = annotations.get(PAUSED, "false")
    if value not in ("true", "false"):
        yield Problem(f"metadata.annotations[{PAUSED}]", value, 'write "true" or "false"')


def _environment_problems(application: ApiApplication) -> Iterator[Problem]:
    for index, variable in enumerate(application.environment):
        source = variable.value_from
        if source is not None and (len(source) != 1 or not source.keys() <= _VARIABLE_SOURCES):
            path = f"spec.application.environment[{index}].valueFrom"
            yield Problem(
                path, variable.name, f"give one of {', '.join(sorted(_VARIABLE_SOURCES))}"
            )


def _template_problems(spec: StreamJobSpec) -> Iterator[Problem]:
    application = spec.application
    for name, pod in (("driver", application.driver), ("executor", application.executor)):
        if pod.template:
            path = f"spec.application.{name}.template"
            yield from template_problems(pod.template, path, name, spec.checkpoint.claim)


def _application(declared: ApiApplication, executors: ApiExecutors) -> Application:
    return Application(
        image=declared.image,
        main_file=declared.main_file,
        image_pull_policy=declared.image_pull_policy,
        image_pull_secrets=tuple(declared.image_pull_secrets),
        service_account=declared.service_account,
        arguments=tuple(declared.arguments),
        spark_conf=declared.spark_conf,
        environment=tuple(
            variable.model_dump(by_alias=True, exclude_none=True)
            for variable in declared.environment
        ),
        python_path=tuple(declared.python_path),
        stop_deadline=quantities.duration(declared.driver.stop_deadline),
        driver=_shape(
            declared.driver,
            memory=quantities.memory(declared.driver.memory),
            percent=_DRIVER_OVERHEAD_PERCENT,
            cpu=_DRIVER_CPU,
        ),
        executor=_shape(
            declared.executor,
            memory=quantities.memory(executors.memory),
            percent=_EXECUTOR_OVERHEAD_PERCENT,
            cpu=Millicores(executors.cores * 1000),
        ),
    )


def _task_cpus(declared: ApiApplication) -> str:
    return declared.spark_conf.get(TASK_CPUS, "1")


def _slot_problems(spec: StreamJobSpec) -> Iterator[Problem]:
    cpus, cores = _task_cpus(spec.application), spec.executors.cores
    path = f"spec.application.sparkConf[{TASK_CPUS}]"
    if not cpus.isdecimal() or int(cpus) < 1:
        yield Problem(path, cpus, "write the cores that a task takes: a whole number, 1 or more")
    elif int(cpus) > cores:
        remedy = f"an executor of {cores} cores has no room for a task; raise spec.executors.cores"
        yield Problem(path, cpus, remedy)


def _shape(pod: Pod, *, memory: Bytes, percent: int, cpu: Millicores) -> PodShape:
    overhead = Bytes(max(_MINIMUM_OVERHEAD, memory * percent // 100))
    limit = quantities.cpu(pod.cpu_limit) if pod.cpu_limit else None
    # Kubernetes refuses a pod that reserves more than its limit; one who lowers the limit alone means both.
    reserved = cpu if limit is None else min(cpu, limit)
    return PodShape(
        memory=memory,
        overhead=quantities.memory(pod.memory_overhead) if pod.memory_overhead else overhead,
        cpu_request=quantities.cpu(pod.cpu_request) if pod.cpu_request else reserved,
        cpu_limit=limit,
        template=pod.template or {},
    )


def _executors(declared: ApiExecutors, task_cpus: int) -> Executors:
    return Executors(
        minimum=declared.min,
        maximum=declared.max,
        initial=declared.initial if declared.initial is not None else declared.min,
        cores=declared.cores,
        slots=declared.cores // task_cpus,
    )


def _objective(slo: Slo | None) -> Objective | None:
    if slo is None:
        return None
    window = window_of(quantities.duration(slo.window))
    return Objective(share=slo.objective, window=window, gaps=Gaps(slo.gaps))


def _latency(slo: Slo | None) -> LatencyBound | None:
    if slo is None or slo.latency is None:
        return None
    bound = quantities.duration(slo.latency.bound)
    return LatencyBound(percentile=slo.latency.percentile, bound=bound)


def _drills(recovery: Recovery | None) -> Drills:
    if recovery is None:
        return Drills()
    declared = recovery.drills
    allowed = frozenset(Victim(victim) for victim in declared.allowed)
    return Drills(allowed=allowed, windows=_windows(declared.windows))


def _drill(annotations: Mapping[str, str]) -> str | None:
    asked = annotations.get(records.ANNOTATION)
    return asked[: records.LONGEST] if asked is not None else None


def _windows(declared: Iterable[ApiWindow]) -> tuple[Window, ...]:
    return tuple(
        Window(
            start=time.fromisoformat(window.start),
            end=time.fromisoformat(window.end),
            days=frozenset(window.days),
            time_zone=window.time_zone,
        )
        for window in declared
    )


SHORTEST_INTERVAL = timedelta(seconds=5)
"""As often, agents are asked."""


def _scaling(declared: ApiScaling) -> Scaling:
    return Scaling(
        mode=Mode(declared.mode),
        policy=declared.policy,
        # One that was stored before there was a least interval goes on.
        interval=max(quantities.duration(declared.interval), SHORTEST_INTERVAL),
        horizon=quantities.duration(declared.horizon),
        stabilisation=quantities.duration(declared.stabilisation),
        blackouts=_windows(declared.blackouts),
        calendar=tuple(
            Event(
                start=datetime.fromisoformat(event.start),
                end=_end_of(event),
                factor=event.factor,
                added=event.added,
                every=None if event.every is None else quantities.duration(event.every),
                time_zone=event.time_zone,
            )
            for event in declared.calendar
        ),
    )


def _end_of(event: CalendarEvent) -> datetime:
    return datetime.fromisoformat(event.start) + quantities.duration(event.duration)


def _calendar_problems(declared: ApiScaling) -> Iterator[Problem]:
    """Moments that have the form of one, and are none: 31 June, or the last hour of 9999 and a day more."""
    for index, event in enumerate(declared.calendar):
        try:
            _end_of(event)
        except (ValueError, OverflowError) as error:
            yield Problem(f"spec.scaling.calendar[{index}].start", event.start, str(error))


def _window_problems(spec: StreamJobSpec) -> Iterator[Problem]:
    """Time zones that have the form of one, and are none: Europe/Atlantis."""
    groups: dict[str, Sequence[ApiWindow | CalendarEvent]] = {
        "spec.scaling.blackouts": spec.scaling.blackouts,
        "spec.scaling.calendar": spec.scaling.calendar,
    }
    if spec.recovery is not None:
        groups["spec.recovery.drills.windows"] = spec.recovery.drills.windows
    for group, windows in groups.items():
        for index, window in enumerate(windows):
            try:
                time_zone(window.time_zone)
            except ValueError:
                path = f"{group}[{index}].timeZone"
                yield Problem(path, window.time_zone, "unknown; write it as Europe/Berlin, or UTC")


def profile_places_problems(namespaces: Sequence[str], own: str, path: str) -> Iterator[Problem]:
    """A copy has the name of its job, so it cannot be beside it."""
    for index, namespace in enumerate(namespaces):
        if namespace == own:
            remedy = "the job itself is there; name another namespace"
            yield Problem(f"{path}[{index}]", namespace, remedy)


def _profiling(declared: ApiProfiling) -> Profiling:
    return Profiling(
        enabled=declared.enabled,
        executors=tuple(declared.executors),
        core_seconds=3600 * declared.budget.core_hours,
        max_share=declared.max_share,
        max_age=quantities.duration(declared.max_age),
        parallel=declared.parallel,
        namespaces=tuple(declared.namespaces),
    )


def _not_in_force(spec: StreamJobSpec) -> Iterator[str]:
    if spec.recovery is not None and spec.scaling.mode == "Off":
        # Drills need no decisions.
        yield "recovery.target" if spec.recovery.drills.allowed else "recovery"
    if spec.alternates:
        yield "alternates"
    if spec.utility is not None:
        yield "utility"
