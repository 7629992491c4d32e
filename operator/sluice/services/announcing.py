"""Tell of news: in the log, and as an Event of the object. The same news of the same object is posted once."""

import hashlib
import logging

from sluice.core.application import JobKey
from sluice.core.news import News
from sluice.errors import ClusterUnavailable, Conflict, InvalidSpec, NotFound
from sluice.manifests import names
from sluice.ports import EVENTS, Clock, Cluster

log = logging.getLogger(__name__)


async def announce(
    cluster: Cluster, clock: Clock, kind: str, key: JobKey, uid: str, item: News
) -> None:
    """Tell of an object of one of our kinds. Losing an Event is no harm."""
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
        "message": item.message[:1024],
        "source": {"component": "sluice"},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }
    try:
        await cluster.create(EVENTS, body)
    except (Conflict, ClusterUnavailable, InvalidSpec, NotFound):
        return
