"""The chart as Helm renders it: with the helm of the local cluster's build, else the one on the PATH."""

import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.cluster import build, layout

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "sluice"
HOME = "sluice-system"


def find_helm() -> str | None:
    """Where helm is, if it is anywhere."""
    paths = layout.paths_from(os.environ, is_root=os.geteuid() == 0)
    built = (build.directory(paths, module) / "helm" for module in (build.CLIENTS, build.KUBE))
    return next((str(helm) for helm in built if helm.exists()), None) or shutil.which("helm")


class _Strict(yaml.SafeLoader):
    """As strict readers are: a key that stands twice is refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(self.construct_object(key) for key, _ in node.value)
        twice = [key for key, count in keys.items() if count > 1]
        assert not twice, f"twice in one mapping: {twice}"
        return super().construct_mapping(node, deep)


@dataclass(frozen=True, slots=True)
class Helm:
    """A helm that is asked about the chart without any cluster."""

    program: str

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run helm. Its own default of the Kubernetes version is whatever it was built with."""
        version = layout.KUBERNETES_VERSION
        command = [self.program, *words, "--kube-version", version]
        return subprocess.run(command, text=True, capture_output=True, check=False)

    def render(self, *values: str, release: str = "sluice", home: str = HOME) -> list[Json]:
        """All objects that an installation would make, with `--set` for each value."""
        done = self._template(release, values, home)
        assert done.returncode == 0, done.stderr
        return [body for body in yaml.load_all(done.stdout, _Strict) if body]

    def refusal(self, *values: str) -> str:
        """What is said of values that are wrong."""
        done = self._template("sluice", values)
        assert done.returncode != 0, "the values were taken"
        return done.stderr

    def _template(
        self, release: str, values: tuple[str, ...], home: str = HOME
    ) -> subprocess.CompletedProcess[str]:
        settings = [word for value in values for word in ("--set-json", value)]
        return self.run("template", release, str(CHART), "--namespace", home, *settings)


def of_kind(objects: list[Json], kind: str) -> dict[tuple[str, str], Json]:
    """The objects of a kind, by namespace and name."""
    return {
        (body["metadata"].get("namespace", ""), body["metadata"]["name"]): body
        for body in objects
        if body["kind"] == kind
    }
