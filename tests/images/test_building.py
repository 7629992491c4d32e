"""The edges of a build: what a host's settings become, how a failure is told, what the manifests hold."""

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from e2e.images import __main__ as command
from e2e.images import host_settings
from e2e.images.manifests import manifest
from e2e.images.progress import CommandFailed, Progress
from e2e.images.recipes import RECIPES, Recipe, image_reference


class CountingBuilder:
    """Writes an archive by a real child process and remembers what it was asked to build."""

    base = "base"

    def __init__(self) -> None:
        self.built: list[str] = []

    def prepare(self, progress: Progress) -> None:
        pass

    def build(self, recipe: Recipe, secrets: Mapping[str, Path]) -> Sequence[str]:
        self.built.append(recipe.name)
        return [sys.executable, "-c", ""]

    def save(self, recipe: Recipe, archive: Path) -> Sequence[str]:
        return [sys.executable, "-c", f"open({str(archive)!r}, 'w').write('archive')"]


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> CountingBuilder:
    builder = CountingBuilder()
    monkeypatch.setattr(command, "choose_builder", lambda _cache: builder)
    return builder


def test_an_image_that_is_in_the_cache_is_not_built_again(
    builder: CountingBuilder, tmp_path: Path
) -> None:
    first = command.build_images([RECIPES["kafka"]], tmp_path, Progress())
    second = command.build_images([RECIPES["kafka"], RECIPES["prometheus"]], tmp_path, Progress())
    assert builder.built == ["kafka", "prometheus"]
    assert first[0] == second[0]
    assert all(archive.read_text() == "archive" for archive in second)


def test_a_build_that_fails_leaves_no_archive_behind(
    builder: CountingBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = "import sys; open({!r}, 'w').write('half'); sys.exit(3)"
    monkeypatch.setattr(
        builder, "save", lambda _recipe, path: [sys.executable, "-c", half.format(str(path))]
    )
    with pytest.raises(CommandFailed):
        command.build_images([RECIPES["kafka"]], tmp_path, Progress())
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".log"]


def test_a_failed_command_is_told_with_its_last_words(tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "import sys; print('no such package'); sys.exit(7)"]
    with pytest.raises(CommandFailed, match=r"spark: .* ended with status 7(?s:.*)no such package"):
        Progress().run("spark", failing, tmp_path / "spark.log")


def test_pip_settings_of_the_environment_win_and_paths_of_this_machine_stay_out() -> None:
    listing = ":env:.index-url='https://b/simple'\nglobal.index-url='https://a/simple'\nglobal.cert='/x'\n"
    assert host_settings.parse_pip_settings(listing) == {"index-url": "https://b/simple"}


def test_secrets_of_a_build_are_gone_after_it() -> None:
    with host_settings.build_secrets() as secrets:
        pip = secrets["pip"]
        assert pip.read_text().startswith("[global]\n")
    assert not pip.exists()


@pytest.mark.parametrize("name", ["kafka", "prometheus"])
def test_a_manifest_runs_our_image_under_the_restricted_standard(name: str) -> None:
    objects = list(yaml.safe_load_all(io.StringIO(manifest(name, "trial"))))
    (deployment,) = [one for one in objects if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["image"] == image_reference(name)
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert not container["securityContext"]["allowPrivilegeEscalation"]


def test_the_rights_of_prometheus_are_bound_in_the_namespace_that_was_asked_for() -> None:
    objects = list(yaml.safe_load_all(io.StringIO(manifest("prometheus", "trial"))))
    (binding,) = [one for one in objects if one["kind"] == "ClusterRoleBinding"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "prometheus", "namespace": "trial"}
    ]
