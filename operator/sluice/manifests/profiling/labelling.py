"""What everything of a copy is known by: the profile's uid in a label, and for people the names in annotations."""

from collections.abc import Mapping
from typing import Any

from sluice.core.application import JobKey
from sluice.core.profiling.records import Profile

Json = dict[str, Any]

PROFILE_LABEL = "sluice.dev/profile"
PROFILE_ANNOTATION = "sluice.dev/profile-name"
JOB_ANNOTATION = "sluice.dev/profiled-job"


def metadata(profile: Profile, name: str, namespace: str | None) -> Json:
    """Metadata of something of a copy; a namespace itself is in none."""
    place = {} if namespace is None else {"namespace": namespace}
    return {
        "name": name,
        **place,
        "labels": {"app.kubernetes.io/managed-by": "sluice", PROFILE_LABEL: profile.uid},
        "annotations": {PROFILE_ANNOTATION: str(profile.key), JOB_ANNOTATION: str(profile.job)},
    }


def profile_uid(body: Mapping[str, Any]) -> str | None:
    """The uid of the profile that an object was made for."""
    uid: str | None = (body["metadata"].get("labels") or {}).get(PROFILE_LABEL)
    return uid


def profile_key(body: Mapping[str, Any]) -> JobKey | None:
    """The profile that an object was made for, by its name; anybody may have written it."""
    return _named(body, PROFILE_ANNOTATION)


def job_key(body: Mapping[str, Any]) -> JobKey | None:
    """The job that an object of a copy was made for."""
    return _named(body, JOB_ANNOTATION)


def _named(body: Mapping[str, Any], annotation: str) -> JobKey | None:
    text = (body["metadata"].get("annotations") or {}).get(annotation, "")
    namespace, _, name = text.partition("/")
    return JobKey(namespace, name) if namespace and name else None
