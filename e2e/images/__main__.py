"""`python3 -m e2e.images [NAME...]`: build what changed, keep it as archives, load it into the local cluster."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from e2e.cluster import layout
from e2e.images.builders import Builder, choose_builder
from e2e.images.host_settings import build_secrets
from e2e.images.progress import CommandFailed, Progress
from e2e.images.recipes import RECIPES, ROOT, Recipe


def main() -> int:
    """Build, then load; the exit status is that of the first thing that failed."""
    options = _options()
    cache = layout.paths_from(os.environ, is_root=os.geteuid() == 0).cache / "images"
    cache.mkdir(parents=True, exist_ok=True)
    progress = Progress()
    try:
        archives = build_images([RECIPES[name] for name in options.names], cache, progress)
    except CommandFailed as failure:
        progress.say(str(failure))
        return 1
    if options.no_load:
        return 0
    progress.say("loading into the local cluster")
    return load_archives(archives)


def build_images(recipes: Sequence[Recipe], cache: Path, progress: Progress) -> list[Path]:
    """Make sure that an archive of each image's present inputs exists, and give their paths."""
    builder = choose_builder(cache)
    wanted = {recipe: cache / f"{recipe.name}-{recipe.key(builder.base)}.tar" for recipe in recipes}
    missing = [recipe for recipe, archive in wanted.items() if not archive.exists()]
    if missing:
        builder.prepare(progress)
    for recipe, archive in wanted.items():
        if recipe in missing:
            _build(builder, recipe, archive, progress)
        megabytes = archive.stat().st_size / 1e6
        progress.say(f"{recipe.name}: {archive} ({megabytes:.0f} MB)")
    return list(wanted.values())


def load_archives(archives: Sequence[Path]) -> int:
    """Hand the archives to the local cluster's nodes."""
    command = [sys.executable, "-m", "e2e.cluster", "load-image", *map(str, archives)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _build(builder: Builder, recipe: Recipe, archive: Path, progress: Progress) -> None:
    log = archive.with_name(f"{recipe.name}.log")
    with build_secrets() as secrets:
        progress.run(recipe.name, builder.build(recipe, secrets), log)
    # Whole or not at all: another checkout may look for the same archive.
    partial = archive.with_suffix(f".{os.getpid()}.partial")
    try:
        progress.run(f"{recipe.name}: saving", builder.save(recipe, partial), log)
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)
    _forget_old(archive, recipe)


def _forget_old(archive: Path, recipe: Recipe, keep: int = 3) -> None:
    """Remove all but the newest archives of this image: each is some hundred megabytes."""
    archives = archive.parent.glob(f"{recipe.name}-*.tar")
    for old in sorted(archives, key=lambda path: path.stat().st_mtime, reverse=True)[keep:]:
        old.unlink()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m e2e.images", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RECIPES)} (all)")
    parser.add_argument("--no-load", action="store_true", help="build only")
    options = parser.parse_args()
    options.names = options.names or list(RECIPES)
    if unknown := set(options.names) - set(RECIPES):
        parser.error(f"no image {', '.join(sorted(unknown))}: choose from {', '.join(RECIPES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
