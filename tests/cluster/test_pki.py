"""Rules of making certificates, by whatever openssl is asked for."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from e2e.cluster import layout, pki


@pytest.fixture
def signed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that openssl was asked to make; what they hold is their own name."""
    made: list[str] = []

    def run(command: Sequence[str], *, directory: Path) -> str:
        for option, file in itertools.pairwise(command):
            if option in ("-out", "-keyout"):
                (directory / file).write_text(file)
                made.append(file)
        return ""

    monkeypatch.setattr(pki, "run", run)
    return made


@pytest.fixture
def paths(tmp_path: Path) -> layout.Paths:
    return layout.Paths(state=tmp_path / "state", cache=tmp_path / "cache")


def test_a_second_start_makes_nothing(paths: layout.Paths, signed: list[str]) -> None:
    assert pki.ensure(paths)
    signed.clear()

    assert not pki.ensure(paths)
    assert signed == []


def test_a_user_that_an_older_checkout_did_not_know_is_signed_by_the_same_authority(
    paths: layout.Paths, signed: list[str]
) -> None:
    pki.ensure(paths)
    for file in paths.pki.glob("policies.*"):
        file.unlink()
    signed.clear()

    assert pki.ensure(paths)
    assert signed == ["policies.key", "policies.csr", "policies.crt"]
    assert (paths.pki / "policies.kubeconfig").exists()


def test_a_start_that_was_interrupted_begins_anew(paths: layout.Paths, signed: list[str]) -> None:
    pki.ensure(paths)
    (paths.pki / "complete").unlink()
    signed.clear()

    assert pki.ensure(paths)
    assert "ca.crt" in signed
    assert {f"{each.name}.crt" for each in pki.certificates()} <= set(signed)
