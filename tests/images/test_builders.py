"""Rules of what builds the images."""

from pathlib import Path

import pytest

from e2e.images import builders
from e2e.images.builders import Buildah, Runtime
from e2e.images.recipes import RECIPES


def answered_by(monkeypatch: pytest.MonkeyPatch, runtime: str | None) -> None:
    monkeypatch.setattr(builders, "find_runtime", lambda: runtime)


@pytest.mark.parametrize("runtime", ["docker", "podman", "nerdctl"])
def test_the_runtime_of_the_cluster_builds_the_images(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, runtime: str
) -> None:
    answered_by(monkeypatch, runtime)
    monkeypatch.setattr(builders, "succeeds", lambda _: False)

    builder = builders.choose_builder(tmp_path)

    assert isinstance(builder, Runtime)
    assert builder.build(RECIPES["kafka"], {})[:2] == [runtime, "build"]


@pytest.mark.parametrize(
    ("runtime", "building"),
    [("docker", ["buildx", "build", "--load"]), ("podman", ["build"]), ("nerdctl", ["build"])],
)
def test_an_image_lands_where_it_is_saved_from_whatever_builder_of_buildx_is_the_users(
    monkeypatch: pytest.MonkeyPatch, runtime: str, building: list[str]
) -> None:
    monkeypatch.setattr(builders, "succeeds", lambda command: "buildx" in command)

    command = Runtime(runtime).build(RECIPES["kafka"], {})

    assert command[: len(building) + 1] == [runtime, *building]


def test_without_a_runtime_buildah_builds_on_a_base_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered_by(monkeypatch, None)

    builder = builders.choose_builder(tmp_path)

    assert isinstance(builder, Buildah)
    assert builder.base != Runtime("docker").base


def test_what_is_given_to_a_build_are_files_and_no_values(tmp_path: Path) -> None:
    command = Runtime("docker").build(RECIPES["spark"], {"pip": tmp_path / "pip"})

    assert f"--secret=id=pip,src={tmp_path / 'pip'}" in command
    assert [word for word in command if word.startswith("--build-arg")] == [
        "--build-arg=BASE=docker.io/library/python:3.11-slim-bookworm"
    ]


def test_an_image_is_saved_by_the_name_that_pods_use(tmp_path: Path) -> None:
    archive = tmp_path / "spark.tar"

    command = Runtime("docker").save(RECIPES["spark"], archive)

    assert command == ["docker", "save", "--output", str(archive), "localhost/sluice-spark:dev"]
