"""Rules of the image archives that are written without a container tool."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from e2e.cluster import images


def write(
    directory: Path,
    file: str = "archive.tar",
    *,
    name: str = "localhost/one:1",
    content: bytes = b"\x7fELF",
) -> Path:
    program = directory / "busybox"
    program.write_bytes(content)
    target = directory / file
    images.write_archive(
        target,
        name=name,
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


def test_an_archive_that_is_there_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    whole = Path.write_bytes

    def slowly(path: Path, content: bytes) -> int:
        whole(path, content[: len(content) // 2])
        seen.append((tmp_path / "archive.tar").exists())
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", slowly)
    archive = write(tmp_path)
    assert seen == [False, False], "neither with the program nor with half of the archive"
    assert images.names(archive) == ["localhost/one:1"]
    assert {path.name for path in tmp_path.iterdir()} == {"archive.tar", "busybox"}


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


def note(loaded: images.Loaded, archive: Path) -> None:
    loaded.note(archive, images.digest(archive))


def has(loaded: images.Loaded, archive: Path) -> bool:
    return loaded.has(archive, images.digest(archive))


def test_an_archive_is_loaded_once_for_each_content_and_again_when_another_has_taken_its_name(
    tmp_path: Path,
) -> None:
    loaded = images.Loaded(tmp_path / "images")
    ours, theirs = write(tmp_path, "a.tar"), write(tmp_path, "b.tar", content=b"newer")
    assert not has(loaded, ours)
    note(loaded, ours)
    assert has(loaded, ours)
    assert not has(loaded, theirs)
    note(loaded, theirs)
    assert has(loaded, theirs)
    assert not has(loaded, ours), "the name means the other one by now"


def test_images_of_other_names_leave_it_loaded(tmp_path: Path) -> None:
    loaded = images.Loaded(tmp_path / "images")
    ours = write(tmp_path, "a.tar")
    other = write(tmp_path, "b.tar", name="localhost/two:1", content=b"newer")
    note(loaded, ours)
    note(loaded, other)
    assert has(loaded, ours)


def test_the_same_content_has_the_same_digest(tmp_path: Path) -> None:
    assert images.digest(write(tmp_path, "a.tar")) == images.digest(write(tmp_path, "b.tar"))
