"""Make a mount of another process read-only: python -m e2e.faults.remounting PROCESS PATH.

A program of its own, for only one without threads may enter a mount namespace, and images need no `mount`.
"""

import ctypes
import os
import sys

_NEW_MOUNTS = 0x00020000
_READ_ONLY, _REMOUNT, _BIND = 1, 32, 4096
"""From sched.h and mount.h."""


def main(process: str, path: str) -> None:
    """Enter the process's mount namespace and remount the path there. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{process}/ns/mnt") as namespace:
        _check(library.setns(namespace.fileno(), _NEW_MOUNTS), f"entering process {process}")
    flags = _REMOUNT | _BIND | _READ_ONLY
    _check(library.mount(None, path.encode(), None, flags, None), f"remounting {path}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
