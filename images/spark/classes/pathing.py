"""Write a jar that names all jars of a folder, in the order of their names: pathing.py FOLDER JAR."""

import sys
import zipfile
from collections.abc import Iterable
from os.path import relpath
from pathlib import Path

WIDTH = 70
"""Characters of a manifest's line; 72 bytes are allowed."""


def manifest(names: Iterable[str]) -> str:
    """The manifest of a jar whose class path these names are; a line that begins with a space goes on with the last."""
    line = f"Class-Path: {' '.join(names)}"
    folded = [
        line[:WIDTH],
        *(line[at : at + WIDTH - 1] for at in range(WIDTH, len(line), WIDTH - 1)),
    ]
    return "\r\n".join(["Manifest-Version: 1.0", "\r\n ".join(folded), "", ""])


def main(folder: str, path: str) -> None:
    """Name the jars relative to the new one: archives of classes do not follow URLs."""
    names = sorted(relpath(one, Path(path).parent) for one in Path(folder).glob("*.jar"))
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), manifest(names))


if __name__ == "__main__":
    main(*sys.argv[1:])
