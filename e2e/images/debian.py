"""The base image where no registry of images can be reached: Debian 12 with Python 3.11, by debootstrap."""

import hashlib
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from e2e.images.progress import Progress
from e2e.images.recipes import ROOT

_RECIPE = ROOT / "e2e" / "images" / "base" / "Dockerfile"
_DEBOOTSTRAP = (
    "debootstrap",
    "--variant=minbase",
    "--include=ca-certificates,python3,python3-venv",
    "bookworm",
)


def base_reference() -> str:
    """Name the base by all that decides its content, less the day on which it was made."""
    content = " ".join(_DEBOOTSTRAP) + _RECIPE.read_text()
    return f"localhost/sluice-base:{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def make_base(cache: Path, progress: Progress) -> None:
    """Make the base unless it is here already: half a minute to two."""
    reference = base_reference()
    found = subprocess.run(["buildah", "inspect", reference], capture_output=True, check=False)
    if found.returncode == 0:
        return
    with TemporaryDirectory(prefix="base-", dir=cache) as folder:
        context = Path(folder)
        _make_root_file_system(context, progress, log=cache / "base.log")
        command = [
            "buildah",
            "bud",
            "--isolation=chroot",
            f"--tag={reference}",
            f"--file={_RECIPE}",
            folder,
        ]
        progress.run("base", command, cache / "base.log")


def _make_root_file_system(context: Path, progress: Progress, log: Path) -> None:
    tree = context / "tree"
    progress.run("base", [*_DEBOOTSTRAP, str(tree)], log)
    shutil.rmtree(tree / "dev")
    for downloaded in ("var/cache/apt/archives", "var/lib/apt/lists"):
        shutil.rmtree(tree / downloaded)
        (tree / downloaded / "partial").mkdir(parents=True)
    (tree / "dev").mkdir()
    archive = ["tar", "--numeric-owner", "-C", str(tree), "-cf", str(context / "rootfs.tar"), "."]
    progress.run("base", archive, log)
    shutil.rmtree(tree)
