"""What a person installs, and what the operator's image goes without."""

import subprocess
import sys
import tomllib

import pytest

from tests.docs.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("library", ["kubernetes", "rich"])
def test_the_consoles_libraries_are_an_extra_that_the_operators_image_lacks(library: str) -> None:
    assert any(one.startswith(library) for one in PROJECT["optional-dependencies"]["cli"])
    assert not any(one.startswith(library) for one in PROJECT["dependencies"])
    pinned = (ROOT / "requirements/operator.txt").read_text()
    assert f"\n{library}==" not in pinned


def test_kubectl_finds_the_plug_in_and_its_completion() -> None:
    assert {"sluice", "kubectl-sluice", "kubectl_complete-sluice"} <= set(PROJECT["scripts"])


def test_a_decision_is_made_again_without_what_forecasts_need() -> None:
    program = (
        "import sys, sluice.console.explaining, sluice.console.history; "
        "from sluice.core.deciding.policies.wording import policy_of; policy_of('hpa:target=0.5'); "
        "print(*sorted({'numpy', 'statsmodels'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("words", [["crds"], ["--help"], ["version", "--client"]])
def test_commands_that_ask_no_cluster_load_none_of_its_libraries(words: list[str]) -> None:
    program = (
        "import sys; from sluice.cli import main; main(sys.argv[1:]); "
        "print(*sorted({'kubernetes', 'rich', 'kopf'} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""
