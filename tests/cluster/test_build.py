"""Rules of naming builds by what they are built from."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.cluster import build, layout


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "programs"
    shutil.copytree(build.SOURCES, copy)
    monkeypatch.setattr(build, "SOURCES", copy)
    return copy


@pytest.mark.parametrize("name", build.INPUTS)
def test_a_changed_source_is_another_build(sources: Path, name: str) -> None:
    before = build.key(build.KUBE)
    (sources / "kube" / name).write_text("changed")

    assert build.key(build.KUBE) != before


def test_changed_flags_are_another_build() -> None:
    assert build.key(replace(build.KUBE, flags="")) != build.key(build.KUBE)


@pytest.mark.parametrize("module", build.MODULES.values(), ids=build.MODULES)
def test_every_module_pins_its_versions(module: build.Module) -> None:
    assert (build.SOURCES / module.name / "go.mod").exists()
    assert (build.SOURCES / module.name / "go.sum").exists()


def test_the_version_that_is_reported_is_the_version_that_is_built() -> None:
    requirements = (build.SOURCES / "kube" / "go.mod").read_text()

    assert f"k8s.io/kubernetes {layout.KUBERNETES_VERSION}\n" in requirements
    assert f"gitVersion={layout.KUBERNETES_VERSION}" in build.KUBE.flags
