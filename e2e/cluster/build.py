"""The Go programs: built once per content of their modules, and kept in the cache.

A full build takes about ten minutes of two processors; Go's own build cache lies beside the results,
so a small change of a module costs seconds.
"""

import hashlib
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.compilers import Compiler
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import KUBERNETES_VERSION, Paths
from e2e.cluster.progress import Progress

SOURCES = Path(__file__).with_name("programs")
INPUTS = ("go.mod", "go.sum", "main.go", "tools.go")
REPORT_SECONDS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A Go module, the programs that are built from it, and other names for its first program."""

    name: str
    packages: tuple[tuple[str, str], ...]
    links: tuple[str, ...] = ()
    flags: str = "-s -w"


def _version_flags() -> str:
    """Set the version that the API server reports, which clients and charts look at."""
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    component, client = "k8s.io/component-base/version", "k8s.io/client-go/pkg/version"
    values = (
        f"{component}.gitVersion={KUBERNETES_VERSION}",
        f"{component}.gitMajor={major}",
        f"{component}.gitMinor={minor}",
        f"{client}.gitVersion={KUBERNETES_VERSION}",
    )
    return " ".join(["-s -w", *(f"-X {value}" for value in values)])


KUBE = Module(
    name="kube",
    packages=(("kube", "."), ("helm", "helm.sh/helm/v3/cmd/helm")),
    links=(
        "etcd",
        "coredns",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kube-proxy",
        "kubelet",
        "kubectl",
    ),
    flags=_version_flags(),
)
CLIENTS = Module(
    name="kube",
    packages=(("kubectl", "k8s.io/kubernetes/cmd/kubectl"), ("helm", "helm.sh/helm/v3/cmd/helm")),
    flags=_version_flags(),
)
KIND = Module(name="kind", packages=(("kind", "sigs.k8s.io/kind"),))
METRICS_SERVER = Module(
    name="metrics-server",
    packages=(("metrics-server", "sigs.k8s.io/metrics-server/cmd/metrics-server"),),
)
KWOK = Module(name="kwok", packages=(("kwok", "sigs.k8s.io/kwok/cmd/kwok"),))
PROMTOOL = Module(
    name="promtool", packages=(("promtool", "github.com/prometheus/prometheus/cmd/promtool"),)
)
MODULES = {
    "kube": KUBE,
    "clients": CLIENTS,
    "kind": KIND,
    "metrics-server": METRICS_SERVER,
    "kwok": KWOK,
    "promtool": PROMTOOL,
}
"""By the name that a command has for each; kubectl and helm come from the module of all of Kubernetes."""


def key(module: Module) -> str:
    """Name what a build depends on: the module's files and the flags."""
    digest = hashlib.sha256(repr(module).encode())
    for name in INPUTS:
        path = SOURCES / module.name / name
        if path.exists():
            digest.update(path.read_bytes())
    return f"{module.name}-{digest.hexdigest()[:12]}"


def version(module: Module, path: str) -> str:
    """Return the version at which a module has another one."""
    lines = (SOURCES / module.name / "go.mod").read_text().splitlines()
    return next(line.split()[-1] for line in lines if line.startswith(f"require {path} "))


def directory(paths: Paths, module: Module) -> Path:
    return paths.cache / "bin" / key(module)


def ensure(paths: Paths, module: Module, go: Compiler, progress: Progress) -> Path:
    """Build a module's programs, unless they are there, and return their directory."""
    target = directory(paths, module)
    if target.is_dir():
        return target
    # Renamed when complete, so an interrupted build is never taken for a finished one.
    unfinished = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for program, package in module.packages:
        _build(paths, module, go, progress, [str(unfinished / program), package])
    for link in module.links:
        (unfinished / link).symlink_to(module.packages[0][0])
    unfinished.rename(target)
    return target


def _build(
    paths: Paths, module: Module, go: Compiler, progress: Progress, output: list[str]
) -> None:
    program = Path(output[0]).name
    progress.say(f"Building {program} (minutes the first time, later seconds) ...")
    options = ["-v", "-trimpath", "-ldflags", module.flags, "-o", *output]
    process = subprocess.Popen(
        [*go.command(SOURCES / module.name, paths.cache), "build", *options],
        env=go.environment(paths.cache),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines = _report(process, program, progress)
    if process.wait() != 0:
        raise ClusterError(f"Building {program} failed:\n" + "\n".join(lines[-20:]))


def _report(process: subprocess.Popen[str], program: str, progress: Progress) -> list[str]:
    """Count the packages that Go names when it has compiled them."""
    lines: list[str] = []
    reported = time.monotonic()
    for line in process.stderr or ():
        lines.append(line.rstrip())
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            progress.say(f"  ... {program}: {len(lines)} packages downloaded or compiled")
    return lines
