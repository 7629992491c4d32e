"""The operator's own secret, from which it derives those of all jobs.

Deriving means that the operator needs no right to read the Secrets of any job's namespace.
"""

import base64

from sluice.errors import Conflict, NotFound
from sluice.ports import SECRETS, Cluster

NAME = "sluice-agent-key"


async def agent_key(cluster: Cluster, namespace: str, fresh: bytes) -> bytes:
    """The stored secret; `fresh` becomes it if there is none yet."""
    try:
        stored = await cluster.get(SECRETS, namespace, NAME)
    except NotFound:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": NAME,
                "namespace": namespace,
                "labels": {"app.kubernetes.io/managed-by": "sluice"},
            },
            "data": {"key": base64.b64encode(fresh).decode()},
        }
        try:
            stored = await cluster.create(SECRETS, body)
        except Conflict:
            stored = await cluster.get(SECRETS, namespace, NAME)
    return base64.b64decode(stored["data"]["key"])
