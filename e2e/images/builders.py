"""Container runtimes and buildah, which build a recipe into an archive that `docker load` and containerd can read."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from e2e.cluster.host import succeeds
from e2e.cluster.requirements import find_runtime
from e2e.images import debian
from e2e.images.progress import CommandFailed, Progress
from e2e.images.recipes import Recipe, image_reference


class Builder(Protocol):
    """Makes archives of images."""

    @property
    def base(self) -> str:
        """The image that all recipes start from: a part of every key."""

    def prepare(self, progress: Progress) -> None:
        """Install and make what the first build needs."""

    def build(self, recipe: Recipe, secrets: Mapping[str, Path]) -> Sequence[str]:
        """Give the command that builds the image and names it by its reference."""

    def save(self, recipe: Recipe, archive: Path) -> Sequence[str]:
        """Give the command that writes the image to an archive."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Docker, or what takes the same words: Podman, nerdctl."""

    program: str
    base: str = "docker.io/library/python:3.11-slim-bookworm"

    def prepare(self, progress: Progress) -> None:
        # Docker's older client takes secrets only so; and it is to tell its steps line by line.
        os.environ |= {"DOCKER_BUILDKIT": "1", "BUILDKIT_PROGRESS": "plain"}
        # An archive with a second manifest, that of the attestation, is not loaded by every containerd.
        os.environ["BUILDX_NO_DEFAULT_ATTESTATIONS"] = "1"

    def build(self, recipe: Recipe, secrets: Mapping[str, Path]) -> Sequence[str]:
        return [self.program, *self._building(), *_build_options(recipe, self.base, secrets)]

    def _building(self) -> Sequence[str]:
        """Build into the daemon's store, from which `save` takes: a builder of the user's keeps the image elsewhere."""
        if self.program == "docker" and succeeds(("docker", "buildx", "version")):
            return ("buildx", "build", "--load")
        return ("build",)

    def save(self, recipe: Recipe, archive: Path) -> Sequence[str]:
        return [self.program, "save", "--output", str(archive), image_reference(recipe.name)]


class Buildah:
    """buildah without any daemon; its isolation by chroot works where containers cannot be started."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self.base = debian.base_reference()

    def prepare(self, progress: Progress) -> None:
        install_missing({"buildah": "buildah", "debootstrap": "debootstrap"}, progress)
        debian.make_base(self._cache, progress)

    def build(self, recipe: Recipe, secrets: Mapping[str, Path]) -> Sequence[str]:
        options = _build_options(recipe, self.base, secrets)
        return ["buildah", "bud", "--isolation=chroot", "--layers", *options]

    def save(self, recipe: Recipe, archive: Path) -> Sequence[str]:
        reference = image_reference(recipe.name)
        # Docker's format, not OCI's: its layers are not compressed, which took most of the time to save and to load.
        return ["buildah", "push", reference, f"docker-archive:{archive}:{reference}"]


def choose_builder(cache: Path) -> Builder:
    """Take the runtime whose daemon answers, by which kind makes the cluster too."""
    runtime = find_runtime()
    return Runtime(runtime) if runtime else Buildah(cache)


def install_missing(packages: Mapping[str, str], progress: Progress) -> None:
    """Install the Debian packages whose program is not there."""
    missing = [package for program, package in packages.items() if not shutil.which(program)]
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise CommandFailed(
            f"Without Docker, Podman or nerdctl the images are built by {', '.join(packages)}, of which"
            f" {', '.join(missing)} is not installed here: start Docker, or install it (as root on Debian this is done"
            " for you)."
        )
    progress.say(f"installing {' '.join(missing)} by apt")
    for command in (["apt-get", "update"], ["apt-get", "install", "--yes", *missing]):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise CommandFailed(f"`{' '.join(command)}` failed: {done.stderr.strip()}")


def _build_options(recipe: Recipe, base: str, secrets: Mapping[str, Path]) -> list[str]:
    return [
        f"--build-arg=BASE={base}",
        *(f"--secret=id={name},src={path}" for name, path in secrets.items()),
        f"--target={recipe.name}",
        f"--tag={image_reference(recipe.name)}",
        f"--file={recipe.dockerfile}",
        str(recipe.context),
    ]
