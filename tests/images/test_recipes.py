"""An image is built anew when, and only when, something that goes into it changes."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest

from e2e.images import recipes
from e2e.images.recipes import RECIPES, ROOT, Recipe


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setattr(recipes, "ROOT", tmp_path)
    code = tmp_path / "code"
    code.mkdir()
    (code / "main.py").write_text("1")
    (tmp_path / "Dockerfile").write_text("FROM scratch")
    return Recipe(name="trial", context=tmp_path, inputs=(code,))


def test_the_key_does_not_depend_on_times_or_bytecode(recipe: Recipe) -> None:
    before = recipe.key("base")
    main = recipe.inputs[0] / "main.py"
    main.write_text(main.read_text())
    (recipe.inputs[0] / "__pycache__").mkdir()
    (recipe.inputs[0] / "__pycache__" / "main.pyc").write_text("bytecode")
    assert recipe.key("base") == before


def test_the_key_changes_with_content_names_modes_the_dockerfile_and_the_base(
    recipe: Recipe,
) -> None:
    main = recipe.inputs[0] / "main.py"
    keys = [
        recipe.key("base"),
        recipe.key("other base"),
        dataclasses.replace(recipe, name="other").key("base"),
    ]
    main.write_text("2")
    keys.append(recipe.key("base"))
    main.chmod(0o755)
    keys.append(recipe.key("base"))
    main.rename(main.with_name("other.py"))
    keys.append(recipe.key("base"))
    recipe.dockerfile.write_text("FROM other")
    keys.append(recipe.key("base"))
    assert len(set(keys)) == len(keys)


def test_the_key_does_not_depend_on_where_the_checkout_is(
    recipe: Recipe, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = recipe.key("base")
    copy = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(recipe.context, copy)
    monkeypatch.setattr(recipes, "ROOT", copy)
    assert dataclasses.replace(recipe, context=copy, inputs=(copy / "code",)).key("base") == before


def test_every_recipe_has_its_dockerfile_and_its_target() -> None:
    for recipe in RECIPES.values():
        assert f"AS {recipe.name}\n" in recipe.dockerfile.read_text()


def test_every_file_that_the_root_dockerfile_copies_is_an_input_of_its_recipe() -> None:
    for name in ("operator", "spark"):
        stage = re.split(r"^FROM ", RECIPES[name].dockerfile.read_text(), flags=re.MULTILINE)
        text = next(part for part in stage if part.partition("\n")[0].endswith(f"AS {name}"))
        copied = [
            word
            for line in re.findall(r"^COPY (?!--from)(.*)", text, re.MULTILINE)
            for word in line.split()[:-1]
        ]
        paths = [ROOT / word for word in copied if not word.startswith("--")]
        assert paths
        for path in paths:
            assert any(path.is_relative_to(known) for known in RECIPES[name].inputs), path


@pytest.mark.parametrize("name", RECIPES)
def test_an_images_user_can_read_what_is_copied_from_a_checkout_of_any_umask(name: str) -> None:
    stages = re.split(r"^FROM ", RECIPES[name].dockerfile.read_text(), flags=re.MULTILINE)
    (stage,) = (part for part in stages if part.partition("\n")[0].endswith(f"AS {name}"))
    copied = re.findall(r"^COPY (?!--from)(.*)", stage, re.MULTILINE)
    kept = [words for words in copied if not words.split()[-1].startswith("/tmp/")]
    assert kept
    assert all(words.startswith(("--chmod=755 ", "--chmod=644 ")) for words in kept)


def test_a_manifest_beside_a_recipe_is_not_a_part_of_the_image() -> None:
    names = {path.name for name in ("kafka", "prometheus") for path in RECIPES[name].inputs}
    assert "Dockerfile" in names
    assert not {name for name in names if name.endswith(".yaml")}


def test_the_kafka_image_shares_the_first_stages_with_the_spark_image() -> None:
    def layers(path: Path) -> list[str]:
        text = path.read_text()
        java = re.search(r"AS java\n(.*?)\n\n", text, re.DOTALL)
        jars = re.search(r"AS jars\n(.*?\n    fi\n)", text, re.DOTALL)
        assert java
        assert jars
        return [java[1], jars[1]]

    assert layers(ROOT / "Dockerfile") == layers(ROOT / "e2e" / "images" / "kafka" / "Dockerfile")


def test_the_spark_image_has_the_packages_that_the_tests_run_with() -> None:
    def pins(path: str) -> dict[str, str]:
        return dict(
            re.findall(r"^([a-z0-9-]+)==(.*(?:\n    .*)*)", (ROOT / path).read_text(), re.MULTILINE)
        )

    locked, image = pins("requirements/dev.txt"), pins("images/spark/requirements.txt")
    assert set(image) == {"confluent-kafka", "py4j", "pyspark"}
    assert image == {name: locked[name] for name in image}
