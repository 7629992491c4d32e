"""What the pages name is there: links, make targets, modules, files and values of the chart."""

import importlib.util
import re

import pytest
import yaml

from tests.docs.pages import PAGES, ROOT, Page, page

TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

each_page = pytest.mark.parametrize("one", PAGES, ids=lambda one: one.name)


@each_page
def test_links_lead_to_files_and_headings_that_exist(one: Page) -> None:
    for link in one.links():
        place, _, anchor = link.partition("#")
        target = (one.path.parent / place).resolve() if place else one.path
        assert target.exists(), f"{one.name}: {link}"
        if anchor:
            assert anchor in Page(target).anchors(), f"{one.name}: {link}"


@each_page
def test_make_targets_exist(one: Page) -> None:
    named = re.findall(r"\bmake ([a-z][a-z0-9-]+)", "\n".join(one.commands()))
    named += re.findall(r"`make ([a-z][a-z0-9-]+)`", one.text)
    assert set(named) <= TARGETS


@each_page
def test_modules_and_files_in_commands_exist(one: Page) -> None:
    for command in one.commands():
        for module in re.findall(r"python3 -m ([\w.]+)", command):
            assert importlib.util.find_spec(module), command
        for place in re.findall(
            r"(?<![\w./:@-])((?:charts|crds|samples|docs|e2e)/[\w./-]*)", command
        ):
            assert (ROOT / place).exists(), command


@each_page
def test_values_that_commands_set_are_in_the_chart(one: Page) -> None:
    known = values()
    for command in one.commands():
        for name in re.findall(r"--set '?([\w.]+)=", command):
            assert name in known, command


@each_page
def test_an_upgrade_keeps_what_was_set_at_the_installation(one: Page) -> None:
    # Helm forgets all of it as soon as one value is given: the image would be looked for on the nodes again.
    for command in one.commands():
        if command.startswith("helm upgrade "):
            assert "--reset-then-reuse-values" in command, command


def values() -> dict[str, object]:
    """The chart's values by their paths; empty objects and lists are values."""
    found: dict[str, object] = {}

    def walk(node: object, path: str) -> None:
        if isinstance(node, dict) and node:
            for key, child in node.items():
                walk(child, f"{path}.{key}" if path else str(key))
        else:
            found[path] = node

    walk(yaml.safe_load((ROOT / "charts/sluice/values.yaml").read_text()), "")
    return found


def test_the_table_of_values_has_each_value_with_its_default() -> None:
    rows = page("docs/install.md").table("value")
    told = {name.strip("`"): yaml.safe_load(default.strip("`")) for name, default, _ in rows}
    assert told == values()
