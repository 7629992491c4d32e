"""Tell the operator of StreamJobs, StreamProfiles and pods that changed. kopf watches; nothing is decided here.

Only event handlers are used: they need no finalizers and no annotations on users' objects, and miss nothing,
because every event leads to the same look at the whole job.
"""

from typing import Any

import kopf

from sluice.adapters.credentials import Credentials
from sluice.handlers.remembering import NoDifferences, NoProgress
from sluice.handlers.sweeping import Sweeper
from sluice.manifests import names
from sluice.ports import PODS, STREAM_JOBS, STREAM_PROFILES
from sluice.services.operating import Operator


def register(
    registry: kopf.OperatorRegistry, operator: Operator, sweeper: Sweeper, credentials: Credentials
) -> None:
    """Enter the handlers of an operator into a registry."""

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(
            server=credentials.server,
            ca_data=credentials.authority,
            insecure=not credentials.verify,
            certificate_data=credentials.certificate,
            private_key_data=credentials.key,
            token=credentials.bearer(),
        )

    @kopf.on.event("sluice.dev", "v1alpha1", "streamjobs", registry=registry)
    async def streamjob_seen(event: kopf.RawEvent, **_: Any) -> None:
        if event["type"] == "DELETED":
            sweeper.forget(STREAM_JOBS, event["object"])
            operator.job_gone(event["object"])
        else:
            is_listed = event["type"] is None
            sweeper.see(STREAM_JOBS, event["object"], listed=is_listed)
            seen = operator.job_listed if is_listed else operator.job_changed
            seen(event["object"])

    @kopf.on.event("sluice.dev", "v1alpha1", "streamprofiles", registry=registry)
    async def streamprofile_seen(event: kopf.RawEvent, **_: Any) -> None:
        if event["type"] == "DELETED":
            sweeper.forget(STREAM_PROFILES, event["object"])
            operator.profile_gone(event["object"])
        else:
            sweeper.see(STREAM_PROFILES, event["object"], listed=event["type"] is None)
            operator.profile_changed(event["object"])

    @kopf.on.event("pods", labels={names.JOB_LABEL: kopf.PRESENT}, registry=registry)
    async def pod_seen(event: kopf.RawEvent, **_: Any) -> None:
        if event["type"] == "DELETED":
            sweeper.forget(PODS, event["object"])
            operator.pod_gone(event["object"])
        else:
            sweeper.see(PODS, event["object"], listed=event["type"] is None)
            operator.pod_changed(event["object"])


def kopf_settings() -> kopf.OperatorSettings:
    """kopf's settings: no peering (we have a Lease), no scanning, watches that cannot go deaf."""
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.watching.chunk_size = 250
    # Each object has a task of kopf's for so long, which holds all that the last event told of it.
    settings.queueing.idle_timeout = 0.1
    settings.watching.label_selectors["pods"] = names.JOB_LABEL
    settings.networking.request_timeout = 30
    settings.persistence.diffbase_storage = NoDifferences()
    settings.persistence.progress_storage = NoProgress()
    settings.persistence.finalizer = "sluice.dev/finalizer"
    return settings
