"""Profiles as the API server stores them: a test names only what it is about."""

from datetime import datetime
from typing import Any

from tests.support.jobs import NOW


def profile_resource(
    name: str = "clicks-1", *, namespace: str = "shop", created: datetime = NOW, **spec: Any
) -> dict[str, Any]:
    """A StreamProfile of the job clicks; keyword arguments replace whole parts of the spec."""
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamProfile",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"0123-uid-of-{name}",
            "generation": 1,
            "resourceVersion": "1",
            "creationTimestamp": created.isoformat(),
        },
        "spec": {"job": "clicks", "executors": [1, 2], **spec},
    }
