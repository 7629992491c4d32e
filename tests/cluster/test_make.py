"""Rules of the commands by which all begins, with a Python that only notes what it is asked."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_OLD = """\
echo "$*" >> "$0.notes"
case "$1" in -c) echo "Python 3.11 or newer is needed" >&2; exit 1 ;; esac
"""


def make(*words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["make", *words],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "target", ["cluster", "cluster-down", "images", "programs", "demo", "demo-down", "install"]
)
def test_nothing_is_begun_with_a_python_that_is_too_old(target: str, tmp_path: Path) -> None:
    python = script(tmp_path / "python3", _OLD)

    done = make(target, f"PYTHON={python}", f"VENV={tmp_path / 'venv'}")

    assert done.returncode != 0
    assert "3.11 or newer" in done.stderr
    (asked,) = (tmp_path / "python3.notes").read_text().splitlines()
    assert asked.startswith("-c import sys")


@pytest.mark.parametrize(
    ("told", "used"),
    [
        ("global.index-url='https://mirror/simple'", "https://mirror/simple"),
        (
            ":env:.index-url='https://env/simple'\nglobal.index-url='https://file/simple'",
            "https://env/simple",
        ),
        ("global.timeout='60'", ""),
    ],
)
def test_packages_come_from_where_pip_is_told_that_they_are(
    told: str, used: str, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    python = script(programs / "python3", "exit 0")
    script(programs / "pip", f'[ "$1" != config ] || cat <<END\n{told}\nEND')
    script(programs / "uv", f'echo "$UV_INDEX_URL" >> {tmp_path}/asked')

    done = make("install", f"PYTHON={python}", f"VENV={tmp_path}", UV_INDEX_URL="")

    assert done.returncode == 0, done.stderr
    assert set((tmp_path / "asked").read_text().splitlines()) == {used}


@pytest.mark.parametrize("version", ["", "1.8.0_402", "11.0.24"])
@pytest.mark.parametrize("target", ["test", "unit", "spark-versions"])
def test_no_test_is_begun_without_a_java_that_spark_runs_on(
    target: str, version: str, tmp_path: Path
) -> None:
    if version:
        have_java(tmp_path, version)

    done = make(target, "PYTHON=false", JAVA_HOME=str(tmp_path))

    assert done.returncode != 0
    assert "Java 17 or newer is needed" in done.stderr


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_a_newer_java_is_taken(version: str, tmp_path: Path) -> None:
    have_java(tmp_path, version)

    assert make("java", JAVA_HOME=str(tmp_path)).returncode == 0


@pytest.mark.parametrize(
    ("version", "is_built"),
    [("", True), ("v3.14.4", True), ("v3.9.0", True), ("v3.18.0", False), ("v4.1.0", False)],
)
def test_a_helm_that_words_its_refusals_otherwise_than_the_tests_do_is_not_theirs(
    version: str, is_built: bool, tmp_path: Path
) -> None:
    python = script(tmp_path / "python3", f'echo "$*" >> {tmp_path}/asked')
    script(tmp_path / "helm", f"test {version} && echo {version}")

    done = make("programs", f"PYTHON={python}", PATH=f"{tmp_path}:{os.environ['PATH']}")

    assert done.returncode == 0, done.stderr
    asked = (tmp_path / "asked").read_text()
    assert ("-m e2e.cluster build clients" in asked) == is_built
    assert "-m e2e.cluster build promtool" in asked


def have_java(home: Path, version: str) -> None:
    """A Java that tells its version as all of them do: on the other stream."""
    (home / "bin").mkdir()
    script(home / "bin" / "java", f"echo 'openjdk version \"{version}\" 2025-04-15' >&2")


def script(path: Path, text: str) -> Path:
    """A program of these lines of shell."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
