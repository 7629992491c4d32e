"""Tell of an object of ours: its status, and news in the log and as Events."""

import hashlib
import logging

from sluice.core.application import JobKey
from sluice.core.news import News
from sluice.errors import ClusterUnavailable, Conflict, InvalidSpec, NotFound
from sluice.manifests import names
from sluice.ports import EVENTS, STREAM_JOBS, STREAM_PROFILES, Clock, Cluster, Json

log = logging.getLogger(__name__)

_RESOURCES = {"StreamJob": STREAM_JOBS, "StreamProfile": STREAM_PROFILES}


_LONGEST_MESSAGE = 1024
"""Characters that the API server takes in an Event."""


async def apply_status(
    cluster: Cluster, kind: str, key: JobKey, uid: str, status: Json, version: str | None
) -> Json:
    """Apply the status of an object; the object as it is then.

    With a version, nobody else may have written the object since. Raises Conflict then, and if the object is gone.
    """
    metadata: Json = {"name": key.name, "namespace": key.namespace, "uid": uid}
    if version is not None:
        metadata["resourceVersion"] = version
    body = {
        "apiVersion": names.API_VERSION,
        "kind": kind,
        "metadata": metadata,
        "status": status,
    }
    try:
        return await cluster.apply(_RESOURCES[kind], body, subresource="status")
    except NotFound as error:
        raise Conflict(f"{kind} {key} is gone") from error


async def announce(
    cluster: Cluster, clock: Clock, kind: str, key: JobKey, uid: str, item: News
) -> None:
    """Log news and post an Event, once for the same news of the same object. Losing an Event is no harm."""
    level = logging.WARNING if item.is_warning else logging.INFO
    log.log(level, "%s: %s", item.reason, item.message)
    digest = hashlib.sha256(f"{uid}/{item.reason}/{item.message}".encode()).hexdigest()[:16]
    stamp = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{key.name}.{digest}", "namespace": key.namespace},
        "involvedObject": {
            "apiVersion": names.API_VERSION,
            "kind": kind,
            "name": key.name,
            "namespace": key.namespace,
            "uid": uid,
        },
        "type": "Warning" if item.is_warning else "Normal",
        "reason": item.reason,
        "message": _line(item.message),
        "source": {"component": "sluice"},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }
    try:
        await cluster.create(EVENTS, body)
    except (Conflict, ClusterUnavailable, InvalidSpec, NotFound):
        return


def _line(message: str) -> str:
    """The message as kubectl lists it, in one line; of a long one both ends, since the remedy is the last of it."""
    line, left_out = " ".join(message.split()), " ... "
    half = (_LONGEST_MESSAGE - len(left_out)) // 2
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:half]}{left_out}{line[-half:]}"
