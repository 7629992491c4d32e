"""Which measurements are of the same program on the same executors."""

import hashlib
import json
from typing import Any

from sluice.core.application import StreamJob
from sluice.core.profiling.records import Key, Start


def key_of(job: StreamJob, start: Start = Start.EARLIEST) -> Key:
    """The image, and a hash of what else makes the job faster or slower at a number of executors.

    An image's tag is taken for what is behind it: whoever moves a tag should profile again.
    """
    application: Any = job.document["application"]
    executors: Any = job.document["executors"]
    parts = {
        **{name: part for name, part in application.items() if name not in _ELSEWHERE},
        "cores": executors["cores"],
        "memory": executors["memory"],
        "sources": job.document.get("sources"),
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Key(image=job.application.image, configuration=digest, start=start)


_ELSEWHERE = frozenset(("image", "imagePullPolicy", "imagePullSecrets"))
"""Parts of the application that make it no faster."""
