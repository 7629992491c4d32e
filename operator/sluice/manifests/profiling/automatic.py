"""The StreamProfile that the operator makes by itself: what spec.profiling says, for the sizes that are needed now."""

from typing import Any

from sluice.core.application import StreamJob
from sluice.core.profiling import automatic
from sluice.core.profiling.wanting import WantProfile
from sluice.manifests import names

Json = dict[str, Any]

_PASSED_ON = ("parallel", "namespaces", "copyDeadline", "storage")

_MOST_DIGITS = 1e4


def automatic_profile(job: StreamJob, number: int, wanted: WantProfile) -> Json:
    """The object; it goes with its job."""
    declared: Any = job.document["profiling"]
    metadata: Json = names.owned_metadata(job, automatic.profile_name(job.key.name, number))
    return {
        "apiVersion": names.API_VERSION,
        "kind": "StreamProfile",
        "metadata": {
            **metadata,
            "labels": {**metadata["labels"], automatic.LABEL: "true"},
            "annotations": {automatic.FAILURES: str(wanted.failures)},
        },
        "spec": {
            "job": job.key.name,
            "executors": list(wanted.executors),
            "budget": {**declared["budget"], "coreHours": _hours(wanted.core_seconds)},
            **{name: declared[name] for name in _PASSED_ON if name in declared},
        },
    }


def _hours(core_seconds: float) -> float:
    """Core-hours, rounded down: a share is not overdrawn by its digits."""
    return int(core_seconds / 3600 * _MOST_DIGITS) / _MOST_DIGITS
