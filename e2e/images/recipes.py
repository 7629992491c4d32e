"""Which images there are, what each is made of, and the key under which a build of it is kept."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """One image: a target of a Dockerfile, the folder it is built in, and the files that it reads."""

    name: str
    context: Path
    inputs: tuple[Path, ...]
    """Files and folders that the target reads beside its Dockerfile."""

    @property
    def dockerfile(self) -> Path:
        return self.context / "Dockerfile"

    def key(self, base: str) -> str:
        """Hash the contents of all inputs; times and the place of the checkout do not count."""
        digest = hashlib.sha256(f"{self.name} {base}".encode())
        for path in _files((self.dockerfile, *self.inputs)):
            digest.update(f"\0{path.relative_to(ROOT)}\0{path.stat().st_mode}\0".encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


def image_reference(name: str) -> str:
    """Give the reference by which pods name the image `name`; their pull policy must not be Always."""
    return f"localhost/sluice-{name}:dev"


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in found if file.is_file() and "__pycache__" not in file.parts)


def _of_root(name: str, *inputs: str) -> Recipe:
    return Recipe(name=name, context=ROOT, inputs=tuple(ROOT / path for path in inputs))


def _of_tests(name: str) -> Recipe:
    context = ROOT / "e2e" / "images" / name
    # The manifest beside the recipe is not a part of the image.
    inputs = tuple(sorted(path for path in context.iterdir() if path.suffix != ".yaml"))
    return Recipe(name=name, context=context, inputs=inputs)


RECIPES = {
    recipe.name: recipe
    for recipe in (
        _of_root("operator", "operator/sluice", "images/operator", "requirements/operator.txt"),
        _of_root("spark", "images/spark", "jobs"),
        _of_tests("kafka"),
        _of_tests("prometheus"),
    )
}
