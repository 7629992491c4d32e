"""From a stored StreamProfile to the core's record, with everything checked that the schema could not."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from sluice.api.convert import problems_of, profile_places_problems
from sluice.api.v1alpha1.streamprofile import StreamProfileSpec
from sluice.core import quantities
from sluice.core.application import JobKey
from sluice.core.profiling import automatic
from sluice.core.profiling.records import Allowance, Profile, Start, Storage
from sluice.errors import InvalidSpec


def streamprofile(resource: Mapping[str, Any]) -> Profile:
    """Read a StreamProfile as the API server gives it.

    Raises InvalidSpec with all problems at once.
    """
    metadata = resource["metadata"]
    try:
        spec = StreamProfileSpec.model_validate(resource.get("spec"))
    except ValidationError as error:
        raise InvalidSpec(problems_of(error)) from error
    problems = list(
        profile_places_problems(spec.namespaces, metadata["namespace"], "spec.namespaces")
    )
    if problems:
        raise InvalidSpec(problems)
    return Profile(
        key=JobKey(metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        generation=metadata.get("generation", 1),
        created=datetime.fromisoformat(metadata["creationTimestamp"]),
        job=JobKey(metadata["namespace"], spec.job),
        start=Start(spec.start),
        executors=tuple(spec.executors),
        allowance=Allowance(
            core_seconds=3600 * spec.budget.core_hours,
            wall=quantities.duration(spec.budget.wall_time),
        ),
        parallel=spec.parallel,
        namespaces=tuple(spec.namespaces),
        copy_deadline=quantities.duration(spec.copy_deadline),
        storage=Storage(
            size=quantities.memory(spec.storage.size),
            storage_class=spec.storage.class_name,
            access_mode=spec.storage.access_mode,
        ),
        is_automatic=(metadata.get("labels") or {}).get(automatic.LABEL) == "true",
        former_failures=_former_failures(metadata.get("annotations") or {}),
    )


def _former_failures(annotations: Mapping[str, str]) -> int:
    """The number in the annotation, which anybody may have written."""
    text = annotations.get(automatic.FAILURES, "")
    return int(text) if text.isdecimal() and len(text) < 6 else 0
