"""What is known of a job's specs, as its status tells it, and the ConfigMap of the last one that worked."""

import json
from collections.abc import Mapping
from typing import Any

from sluice.core.application import StreamJob
from sluice.core.proving import Good, Proving, Rollback, Trial
from sluice.manifests import names
from sluice.manifests.moments import moment_text, read_moment

Json = dict[str, Any]

_SPEC = "spec.json"


def told(proving: Proving) -> Json:
    """The part of the status."""
    good, trial, rollback = proving.good, proving.trial, proving.rollback
    return {
        "good": good
        and {
            "generation": good.generation,
            "fingerprint": good.fingerprint,
            "checkpoint": good.checkpoint,
        },
        "trial": trial
        and {
            "generation": trial.generation,
            "since": moment_text(trial.since),
            "failures": trial.failures,
            "staffed": trial.is_staffed or None,
            "fingerprint": trial.fingerprint or None,
        },
        "rollback": rollback
        and {
            "generation": rollback.generation,
            "reason": rollback.why,
            "incarnation": rollback.incarnation,
            "fingerprint": rollback.fingerprint,
        },
    }


def read(told: Mapping[str, Any]) -> Proving:
    """What a stored status tells. Without a good spec, to which somebody must have put an end, nothing is known."""
    good = _good(told.get("good", {}))
    if good is None:
        return Proving()
    return Proving(
        good=good, trial=_trial(told.get("trial", {})), rollback=_rollback(told.get("rollback", {}))
    )


def _good(told: Mapping[str, Any]) -> Good | None:
    if "fingerprint" not in told:
        return None
    return Good(
        generation=told.get("generation", 0),
        fingerprint=told["fingerprint"],
        checkpoint=told.get("checkpoint", ""),
    )


def _trial(told: Mapping[str, Any]) -> Trial | None:
    since = read_moment(told.get("since"))
    if since is None:
        return None
    return Trial(
        generation=told.get("generation", 0),
        since=since,
        failures=told.get("failures", 0),
        is_staffed=told.get("staffed", False),
        fingerprint=told.get("fingerprint", ""),
    )


def _rollback(told: Mapping[str, Any]) -> Rollback | None:
    if "generation" not in told:
        return None
    return Rollback(
        generation=told["generation"],
        why=told.get("reason", ""),
        # Releases that tried no spec again stored none.
        incarnation=told.get("incarnation", 0),
        fingerprint=told.get("fingerprint", ""),
    )


def last_good(job: StreamJob) -> Json:
    """The ConfigMap that keeps the spec of a job that works."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": names.owned_metadata(job, names.last_good(job.key.name)),
        "data": {_SPEC: json.dumps(job.document, sort_keys=True, separators=(",", ":"))},
    }


def read_last_good(config_map: Mapping[str, Any], uid: str) -> Json | None:
    """The spec that was kept for the job of that uid; None if this is not it, or nobody can read it."""
    owners = config_map["metadata"].get("ownerReferences", [])
    try:
        document = json.loads(config_map["data"][_SPEC])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    is_ours = any(owner["uid"] == uid for owner in owners) and isinstance(document, dict)
    return document if is_ours else None
