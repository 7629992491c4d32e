"""Open each new volume to every user; run as a program of the control plane.

Kubernetes' host-path provisioner makes a volume's directory with mode 0750 for root, and a kubelet
does not apply a pod's fsGroup to host paths: a pod that does not run as root could not write. A
default ACL does not help, since the mode of the creating call masks it. So the kernel is asked to
tell of each new directory, which is opened within a millisecond, long before a pod can mount it.
"""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

IN_CREATE = 0x100
IN_MOVED_TO = 0x80
MADE_BY_PROVISIONER = 0o750
EVERYONE = 0o777
READ_SIZE = 65536


def open_volumes(directory: Path) -> None:
    """Open the volumes that no one has opened yet; a user's later chmod stays."""
    for volume in directory.iterdir():
        # One that is deleted meanwhile needs nothing.
        with suppress(FileNotFoundError):
            if volume.stat().st_mode & EVERYONE == MADE_BY_PROVISIONER:
                volume.chmod(EVERYONE)


def watch(directory: Path) -> None:
    """Open the volumes of a directory, now and whenever one is made."""
    library = ctypes.CDLL(None, use_errno=True)
    events = library.inotify_init()
    if library.inotify_add_watch(events, os.fsencode(directory), IN_CREATE | IN_MOVED_TO) < 0:
        raise OSError(ctypes.get_errno(), f"Cannot watch {directory}")
    while True:
        open_volumes(directory)
        os.read(events, READ_SIZE)


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
