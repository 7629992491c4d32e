"""Rules of the image archives that are written without a container tool."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from e2e.cluster import images


def write(directory: Path, name: str = "archive.tar") -> Path:
    program = directory / "busybox"
    program.write_bytes(b"\x7fELF")
    target = directory / name
    images.write_archive(
        target,
        name="localhost/one:1",
        program=program,
        command=("/busybox",),
        architecture="amd64",
    )
    return target


def member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as opened:
        file = opened.extractfile(name)
        assert file is not None
        return file.read()


def test_an_archive_names_its_image_and_its_layers(tmp_path: Path) -> None:
    (manifest,) = json.loads(member(write(tmp_path), "manifest.json"))

    assert manifest["RepoTags"] == ["localhost/one:1"]
    assert manifest["Layers"] == ["layer.tar"]


def test_the_configuration_holds_the_digest_of_the_layer(tmp_path: Path) -> None:
    archive = write(tmp_path)
    configuration = json.loads(member(archive, "config.json"))

    digest = hashlib.sha256(member(archive, "layer.tar")).hexdigest()
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{digest}"]
    assert configuration["architecture"] == "amd64"


def test_the_program_in_an_image_can_be_executed(tmp_path: Path) -> None:
    layer = io.BytesIO(member(write(tmp_path), "layer.tar"))

    with tarfile.open(fileobj=layer) as opened:
        assert opened.getmember("busybox").mode & 0o111 == 0o111


def test_the_same_content_has_the_same_digest(tmp_path: Path) -> None:
    assert images.digest(write(tmp_path, "a.tar")) == images.digest(write(tmp_path, "b.tar"))
