"""Rules of the Go that builds programs, and of choosing it."""

import os
import platform
import shutil
from pathlib import Path

import pytest

from e2e.cluster import compilers, requirements
from e2e.cluster.compilers import ContainerGo, HostGo
from e2e.cluster.errors import ClusterError
from e2e.cluster.progress import Progress

MODULE, CACHE = Path("/src/module"), Path("/cache")


def without_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)


def test_go_of_this_machine_is_taken_before_one_in_a_container(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/opt/go/bin/go")
    monkeypatch.setattr(requirements, "run", lambda _: "go version go1.26.8 linux/amd64")

    assert requirements.ensure_go("docker", Progress()) == HostGo("/opt/go/bin/go")


def test_docker_alone_is_enough_to_build(monkeypatch: pytest.MonkeyPatch) -> None:
    without_go(monkeypatch)

    assert requirements.ensure_go("docker", Progress()) == ContainerGo("docker")


def test_a_go_that_is_too_old_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/usr/bin/go")
    monkeypatch.setattr(requirements, "run", lambda _: "go version go1.19 linux/amd64")

    assert requirements.ensure_go("docker", Progress()) == ContainerGo("docker")


def test_without_go_and_runtime_the_message_says_where_go_comes_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_go(monkeypatch)

    with pytest.raises(ClusterError, match=r"Install it from https://go.dev/dl"):
        requirements.ensure_go(None, Progress())


@pytest.mark.parametrize(
    ("system", "machine", "wanted"),
    [
        ("Linux", "x86_64", ("linux", "amd64")),
        ("Darwin", "arm64", ("darwin", "arm64")),
        ("Linux", "aarch64", ("linux", "arm64")),
    ],
)
def test_what_a_container_builds_is_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, wanted: tuple[str, str]
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    command = ContainerGo("docker").command(MODULE, CACHE)

    assert {f"--env=GOOS={wanted[0]}", f"--env=GOARCH={wanted[1]}"} <= set(command)


def test_what_a_container_builds_belongs_to_the_user_and_lies_where_it_lies_outside() -> None:
    command = ContainerGo("podman").command(MODULE, CACHE)

    assert command[0] == "podman"
    assert f"--user={os.getuid()}:{os.getgid()}" in command
    assert {"--volume=/src/module:/src/module:ro", "--volume=/cache:/cache"} <= set(command)
    assert command[-4:] == (compilers.IMAGE, "go", "-C", "/src/module")


@pytest.mark.parametrize(("uid", "mapping"), [(0, False), (1000, True)])
def test_in_a_container_of_podman_the_user_is_the_one_outside(
    uid: int, mapping: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: uid)

    command = ContainerGo("podman").command(MODULE, CACHE)

    assert ("--userns=keep-id" in command) is mapping
    assert "--security-opt=label=disable" in command
    assert "--userns=keep-id" not in ContainerGo("docker").command(MODULE, CACHE)


def test_a_companys_module_proxy_is_passed_on_and_nothing_is_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOPROXY", "https://proxy.example.com")
    monkeypatch.delenv("GOPRIVATE", raising=False)

    command = ContainerGo("docker").command(MODULE, CACHE)

    assert "--env=GOPROXY" in command
    assert "--env=GOPRIVATE" not in command


def test_go_of_this_machine_works_in_the_directory_of_the_module_and_keeps_its_cache_apart() -> (
    None
):
    go = HostGo("/opt/go/bin/go")

    assert go.command(MODULE, CACHE) == ("/opt/go/bin/go", "-C", "/src/module")
    assert go.environment(CACHE)["GOCACHE"] == "/cache/go-build"
