"""The page about the commands says what they are."""

import pytest

from sluice.cli import sluice
from sluice.console.trouble import EXIT_CODES, Exit
from tests.docs.pages import code, page

PAGE = page("docs/kubectl-sluice.md")
FOR_OPERATORS = {"crds", "run"}


def test_every_command_for_people_is_explained() -> None:
    explained = [name for row in PAGE.table("command") for name in code(row[0])]
    assert {*explained, *FOR_OPERATORS} == set(
        sluice.list_commands(sluice.make_context("x", ["run"]))
    )


def test_every_exit_code_is_explained() -> None:
    assert [int(row[0]) for row in PAGE.table("exit code")] == list(Exit)
    for exit_code in Exit:
        assert exit_code is Exit.INTERRUPTED or f"\n  {exit_code:d}  " in EXIT_CODES


@pytest.mark.parametrize("command", [line for line in PAGE.commands() if "kubectl sluice" in line])
def test_each_example_is_a_command_with_its_own_options(command: str) -> None:
    words = command.partition("|")[0].split()[2:]
    found = sluice.get_command(sluice.make_context("x", ["run"]), words[0])
    assert found is not None
    known = {option for parameter in found.params for option in parameter.opts}
    assert {word for word in words[1:] if word.startswith("-")} <= known
