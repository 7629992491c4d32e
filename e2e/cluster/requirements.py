"""What the host must have, and how it gets it: Debian packages and a Go compiler.

Deciding (which runtime, which packages, which Go) is apart from looking and from installing.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from e2e.cluster.compilers import Compiler, ContainerGo, HostGo
from e2e.cluster.errors import ClusterError
from e2e.cluster.host import run, succeeds
from e2e.cluster.layout import CNI_PLUGINS
from e2e.cluster.progress import Progress

# A client without a daemon is common, and `docker info` prints its answer even then. So what counts
# is the exit status of commands that ask the daemon.
RUNTIMES = {
    "docker": ("docker", "version", "--format", "{{.Server.Version}}"),
    "podman": ("podman", "info"),
    "nerdctl": ("nerdctl", "info"),
}
PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    str(CNI_PLUGINS / "bridge"): "containernetworking-plugins",
    "ip": "iproute2",
    "nft": "nftables",
    "iptables": "iptables",
    "openssl": "openssl",
    "busybox": "busybox-static",
    "unshare": "util-linux",
    "mount": "mount",
    "sysctl": "procps",
    "buildah": "buildah",
    "debootstrap": "debootstrap",
}
# From this version on, Go fetches the version that a module asks for.
FIRST_SELF_UPDATING_GO = (1, 21)
# What docs/install.md asks for; older ones do not know all options that are used.
OLDEST_HELM = (3, 14)
# Older ones do not enforce network policies, or make a Kubernetes that the chart refuses.
OLDEST_KIND = (0, 24)
GO_DIRECTORY = Path("/usr/local/go/bin")


def find_runtime(responds: Callable[[tuple[str, ...]], bool] = succeeds) -> str | None:
    """Return the container runtime whose daemon answers, if any does."""
    return next((name for name, command in RUNTIMES.items() if responds(command)), None)


def missing_packages(is_there: Callable[[str], bool]) -> list[str]:
    """Return the Debian packages of the programs that are not there."""
    return [package for program, package in PACKAGES.items() if not is_there(program)]


def ensure_packages(progress: Progress) -> None:
    """Install what is missing, or say what is and how to get it."""
    if os.geteuid() != 0:
        raise ClusterError(
            "There is no container runtime, and making machines from namespaces needs root. "
            "Start Docker (or Podman, or nerdctl), or run the command as root."
        )
    missing = missing_packages(lambda program: shutil.which(program) is not None)
    if missing:
        install(missing, progress)


def install(packages: list[str], progress: Progress) -> None:
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise ClusterError(f"Missing, and there is no apt to install it: {names}. Install it.")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    progress.say(f"Installing {names} ...")
    run(["apt-get", "update", "-qq"], environment=environment)
    options = ("-qq", "-y", "--no-install-recommends")
    run(["apt-get", "install", *options, *packages], environment=environment)


def has_clients() -> bool:
    """Whether kubectl, and a helm that is new enough, are on the PATH."""
    if not (shutil.which("kubectl") and shutil.which("helm")):
        return False
    asking = ["helm", "version", "--template", "{{.Version}}"]
    return succeeds(asking) and parse_helm(run(asking)) >= OLDEST_HELM


def has_kind() -> bool:
    """Whether a kind that is new enough is on the PATH."""
    asking = ["kind", "version"]
    return (
        shutil.which("kind") is not None
        and succeeds(asking)
        and parse_kind(run(asking)) >= OLDEST_KIND
    )


def ensure_go(runtime: str | None, progress: Progress) -> Compiler:
    """Return a Go that can build the modules: this machine's, one in a container, or one that is installed for it."""
    go = shutil.which("go", path=f"{os.environ.get('PATH', '')}:{GO_DIRECTORY}")
    if go and parse_go(run([go, "version"])) >= FIRST_SELF_UPDATING_GO:
        return HostGo(go)
    if runtime:
        return ContainerGo(runtime)
    offered = run(["apt-cache", "policy", "golang-go"]) if shutil.which("apt-cache") else ""
    if os.geteuid() == 0 and parse_candidate(offered) >= FIRST_SELF_UPDATING_GO:
        install(["golang-go"], progress)
        return HostGo("/usr/bin/go")
    raise ClusterError(
        f"Go 1.21 or newer is needed to build Kubernetes; {go or 'none'} was found, and apt offers "
        f"none. Install it from https://go.dev/dl to {GO_DIRECTORY.parent}, or put it on the PATH."
    )


def parse_go(version: str) -> tuple[int, int]:
    """Read the output of `go version`."""
    return _version(r"go(\d+)\.(\d+)", version)


def parse_helm(version: str) -> tuple[int, int]:
    """Read the version that helm tells of itself."""
    return _version(r"v(\d+)\.(\d+)", version)


def parse_kind(version: str) -> tuple[int, int]:
    """Read the output of `kind version`."""
    return _version(r"kind v(\d+)\.(\d+)", version)


def parse_candidate(policy: str) -> tuple[int, int]:
    """Read the version that `apt-cache policy` would install."""
    return _version(r"Candidate: (?:\d+:)?(\d+)\.(\d+)", policy)


def _version(pattern: str, text: str) -> tuple[int, int]:
    found = re.search(pattern, text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
