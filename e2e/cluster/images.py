"""Images: the pause image, made from static busybox, and loading archives into the nodes."""

import hashlib
import io
import json
import shutil
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import host, machines, nodes
from e2e.cluster.errors import ClusterError
from e2e.cluster.host import run
from e2e.cluster.layout import Machine, Paths
from e2e.cluster.progress import Progress

PAUSE_COMMAND = ("/busybox", "sleep", "2147483647")


def write_archive(
    target: Path, *, name: str, program: Path, command: tuple[str, ...], architecture: str
) -> None:
    """Write an image of one static program, in the form of `docker save`."""
    layer = _tar({program.name: program.read_bytes()}, mode=0o755)
    settings = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": list(command)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    configuration = json.dumps(settings).encode()
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    files = {"config.json": configuration, "layer.tar": layer}
    files["manifest.json"] = json.dumps(manifest).encode()
    # Nodes are prepared side by side, and whoever finds it takes it to be whole.
    partial = target.with_name(f"{target.name}.{threading.get_ident()}")
    partial.write_bytes(_tar(files, mode=0o644))
    partial.replace(target)


def _tar(files: dict[str, bytes], *, mode: int) -> bytes:
    """Pack files without times or owners, so that the same content has the same digest."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def load_pause(paths: Paths, node: Machine) -> None:
    """Give a node the image that holds every pod's namespaces."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise ClusterError("busybox was not found: install the package busybox-static.")
    if not paths.pause_archive.exists():
        write_archive(
            paths.pause_archive,
            name=nodes.PAUSE_IMAGE,
            program=Path(busybox),
            command=PAUSE_COMMAND,
            architecture=host.architecture(),
        )
    load(paths, node, paths.pause_archive, digest(paths.pause_archive))


def load_into_all(
    paths: Paths, targets: list[Machine], archives: list[Path], progress: Progress
) -> None:
    """Load every archive into every node, node by node side by side."""
    for archive in archives:
        if not archive.is_file():
            raise ClusterError(f"There is no image archive {archive}: build it first.")

    digests = {archive: digest(archive) for archive in archives}

    def load_node(node: Machine) -> None:
        for archive in archives:
            loaded = load(paths, node, archive, digests[archive])
            progress.say(f"{node.name} {'loaded' if loaded else 'has'} {archive.name}")

    with ThreadPoolExecutor(max_workers=len(targets)) as pool:
        list(pool.map(load_node, targets))


def load(paths: Paths, node: Machine, archive: Path, content: str) -> bool:
    """Load an archive into a node, unless its names mean that content there. Return whether it was loaded."""
    loaded = Loaded(paths.machine(node) / "images")
    if loaded.has(archive, content):
        return False
    importing = ["ctr", "-a", nodes.SOCKET, "-n", "k8s.io", "images", "import", str(archive)]
    run(machines.inside(paths, node, importing))
    loaded.note(archive, content)
    return True


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the names of images mean where they were loaded: the last archive that had them. Another checkout gives the
    same names to what it has built, and this one again to what is there already.
    """

    folder: Path

    def has(self, archive: Path, content: str) -> bool:
        """Whether each name that an archive gives is of this content."""
        return all(
            mark.exists() and mark.read_text() == content for mark in self._marks(archive, content)
        )

    def note(self, archive: Path, content: str) -> None:
        """The archive was loaded."""
        self.folder.mkdir(exist_ok=True)
        for mark in self._marks(archive, content):
            mark.write_text(content)

    def _marks(self, archive: Path, content: str) -> list[Path]:
        return [self.folder / name.replace("/", "_") for name in names(archive) or [content]]


def names(archive: Path) -> list[str]:
    """The names that an archive in the form of `docker save` gives to its images."""
    with tarfile.open(archive) as opened:
        manifest = opened.extractfile("manifest.json")
        assert manifest is not None
        return [name for image in json.load(manifest) for name in image["RepoTags"] or ()]


def digest(archive: Path) -> str:
    with archive.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
