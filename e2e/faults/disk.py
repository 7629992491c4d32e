"""A disk of its own for the checkpoints of a namespace, small enough to be filled."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from e2e.cluster import layout
from e2e.faults import commands
from e2e.support.api import Cluster
from e2e.support.jobs import CLAIM

_MEGABYTES = 64
_CHUNK = bytes(4096)


@contextmanager
def small_disk(cluster: Cluster, namespace: str) -> Iterator[Path]:
    """Mount it over the volume of the claim, on the host and on all machines; where it is on the host."""
    volume = _volume_of(cluster, namespace)
    here = layout.paths_from(os.environ, is_root=True).volumes / volume.name
    with ExitStack() as undone:
        folder = Path(undone.enter_context(tempfile.TemporaryDirectory(prefix="sluice-disk-")))
        image = folder / "disk"
        image.touch()
        os.truncate(image, _MEGABYTES << 20)
        # No blocks are kept back for root, who is to fill it.
        commands.run("mkfs.ext4", "-q", "-m", "0", str(image))
        device = commands.run("losetup", "--find", "--show", str(image)).strip()
        undone.callback(commands.run, "losetup", "--detach", device)
        commands.run("mount", device, str(here))
        undone.callback(commands.run, "umount", "--lazy", str(here))
        for node in cluster.list("Node", ""):
            enter = ("enter", node["metadata"]["name"])
            commands.cluster(*enter, "mount", device, str(volume))
            undone.callback(commands.cluster, *enter, "umount", "--lazy", str(volume))
        here.chmod(0o777)
        yield here


def _volume_of(cluster: Cluster, namespace: str) -> Path:
    """The folder of the claim's volume, as the machines name it."""
    claim = cluster.get("PersistentVolumeClaim", namespace, CLAIM)
    assert claim is not None, f"no claim {CLAIM} in {namespace}"
    volume = cluster.get("PersistentVolume", "", claim["spec"]["volumeName"])
    assert volume is not None, f"the claim {CLAIM} has no volume yet"
    return Path(volume["spec"]["hostPath"]["path"])


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """No byte is left on the disk for a while."""
    filler = disk / "filler"
    try:
        _fill(filler)
        yield
    finally:
        filler.unlink(missing_ok=True)


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(_CHUNK)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
