"""One command at a time: two checkouts share one cluster, so changing it takes a lock.

The kernel drops the lock with the process that holds it; a crash leaves nothing to clean up.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.cluster.progress import Progress


@contextmanager
def exclusive(path: Path, purpose: str, progress: Progress) -> Iterator[None]:
    """Hold the lock for a purpose; a second caller says whom it waits for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Opened for appending, because the text in it is the present holder's.
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            progress.say(f"Waiting for {file.read().strip() or 'another process'} ({path}) ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"`{purpose}` of process {os.getpid()} in {Path.cwd()}")
        file.flush()
        yield
        file.truncate(0)
