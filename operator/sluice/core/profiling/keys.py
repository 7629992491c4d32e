"""Which measurements are of the same program on the same executors."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sluice.core.application import StreamJob
from sluice.core.images import digest_in
from sluice.core.observations import DriverPod
from sluice.core.profiling.records import Key, Start


def key_of(job: StreamJob, start: Start = Start.EARLIEST, driver: DriverPod | None = None) -> Key:
    """The image, and a hash of what else makes the job faster or slower at a number of executors.

    The driver tells the digest behind the image's name, if it is one of the job as it is declared.
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
    return Key(
        image=job.application.image,
        configuration=hashlib.sha256(text.encode()).hexdigest()[:16],
        start=start,
        # What is declared by its digest is known before a driver runs.
        digest=digest_in(job.application.image) or _digest_behind(job, driver),
    )


def running_key(job: StreamJob, driver: DriverPod) -> Key:
    """The key of what a driver runs, whatever is declared by now."""
    document: Any = driver.document
    try:
        application = replace(job.application, image=document["application"]["image"])
        running = replace(job, application=application, document=document)
        return key_of(running, driver=driver)
    except (KeyError, TypeError):
        # Written by a release with other rules, or by whoever may write pods: what is declared is the best guess.
        return key_of(job, driver=driver)


def _digest_behind(job: StreamJob, driver: DriverPod | None) -> str | None:
    """What the driver runs under the name that the job declares now."""
    if driver is None or driver.owner_uid != job.uid:
        return None
    application = (driver.document or {}).get("application")
    # Whoever may write pods may have written this.
    is_same = isinstance(application, Mapping) and application.get("image") == job.application.image
    return driver.digest if is_same else None


_ELSEWHERE = frozenset(("image", "imagePullPolicy", "imagePullSecrets"))
"""Parts of the application that make it no faster."""
