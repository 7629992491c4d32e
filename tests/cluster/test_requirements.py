"""Rules of what the host must have."""

import os

import pytest

from e2e.cluster import requirements
from e2e.cluster.errors import ClusterError
from e2e.cluster.progress import Progress


def test_a_client_without_a_daemon_is_no_runtime() -> None:
    assert requirements.find_runtime(lambda _: False) is None


def test_docker_is_asked_for_its_daemon_and_not_for_its_client() -> None:
    asked: list[tuple[str, ...]] = []

    def refuse(command: tuple[str, ...]) -> bool:
        asked.append(command)
        return False

    requirements.find_runtime(refuse)

    assert asked[0] == ("docker", "version", "--format", "{{.Server.Version}}")


@pytest.mark.parametrize("name", ["docker", "podman", "nerdctl"])
def test_the_runtime_whose_daemon_answers_is_used(name: str) -> None:
    assert requirements.find_runtime(lambda command: command[0] == name) == name


def test_only_packages_of_missing_programs_are_installed() -> None:
    missing = requirements.missing_packages(lambda program: program not in ("runc", "busybox"))

    assert missing == ["runc", "busybox-static"]


def test_without_root_and_runtime_the_message_names_both_remedies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(ClusterError, match=r"Start Docker .*, or run the command as root"):
        requirements.ensure_packages(Progress())


@pytest.mark.parametrize(
    ("text", "version"),
    [("go version go1.26.8 linux/amd64", (1, 26)), ("go version go1.9 linux/amd64", (1, 9))],
)
def test_the_version_of_go_is_read(text: str, version: tuple[int, int]) -> None:
    assert requirements.parse_go(text) == version


def test_debians_old_go_is_not_taken_for_a_new_one() -> None:
    policy = "golang-go:\n  Installed: (none)\n  Candidate: 2:1.19~1\n  Version table:"

    assert requirements.parse_candidate(policy) < requirements.FIRST_SELF_UPDATING_GO


def test_no_candidate_is_older_than_any_go() -> None:
    assert requirements.parse_candidate("golang-go:\n  Candidate: (none)\n") == (0, 0)
