"""The Go that builds programs: the host's, or one in a container where there is a runtime and no Go."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from e2e.cluster.host import architecture

IMAGE = "golang:1.26"
# What reaches a company's module proxy; a variable that is not set here is not set there.
_PASSED = ("GOPROXY", "GONOSUMDB", "GOPRIVATE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# A Go that is older than a module asks for may fetch the right one through the module proxy.
_SETTINGS = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "auto", "GOFLAGS": "-buildvcs=false"}


class Compiler(Protocol):
    """Runs Go in the directory of a module, with its caches in another directory."""

    def command(self, module: Path, cache: Path) -> Sequence[str]:
        """Return what comes before the words that Go is given."""

    def environment(self, cache: Path) -> Mapping[str, str]:
        """Return what the command is to be run with."""


@dataclass(frozen=True, slots=True)
class HostGo:
    """A Go on this machine."""

    program: str

    def command(self, module: Path, cache: Path) -> Sequence[str]:
        return (self.program, "-C", str(module))

    def environment(self, cache: Path) -> Mapping[str, str]:
        return {**os.environ, **_SETTINGS, "GOCACHE": str(cache / "go-build")}


@dataclass(frozen=True, slots=True)
class ContainerGo:
    """Go's own image; paths are the same inside, and what it builds is for this machine and belongs to its user."""

    runtime: str

    def command(self, module: Path, cache: Path) -> Sequence[str]:
        settings = {
            **_SETTINGS,
            "GOOS": platform.system().lower(),
            "GOARCH": architecture(),
            "HOME": str(cache / "go-home"),
            "GOCACHE": str(cache / "go-build"),
            "GOPATH": str(cache / "go-home"),
        }
        volumes = [f"{module}:{module}:ro", f"{cache}:{cache}"]
        if _CERTIFICATES.exists():
            volumes.append(f"{_CERTIFICATES}:{_CERTIFICATES}:ro")
        return (
            *(self.runtime, "run", "--rm", f"--user={os.getuid()}:{os.getgid()}"),
            *self._mapping(),
            *(f"--volume={volume}" for volume in volumes),
            *(f"--env={name}={value}" for name, value in settings.items()),
            *(f"--env={name}" for name in _PASSED if name in os.environ),
            *(IMAGE, "go", "-C", str(module)),
        )

    def _mapping(self) -> Sequence[str]:
        """Podman maps users to others, and SELinux lets its containers into no directory of theirs."""
        if self.runtime != "podman":
            return ()
        mapping = () if os.getuid() == 0 else ("--userns=keep-id",)
        return (*mapping, "--security-opt=label=disable")

    def environment(self, cache: Path) -> Mapping[str, str]:
        return os.environ
