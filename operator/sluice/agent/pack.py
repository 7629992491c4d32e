"""The agent as one file for a ConfigMap: small, and the same bytes for the same code.

The package is renamed inside: a program with a module `sluice` of its own must not meet ours.
"""

import io
import re
import zipfile
from pathlib import Path

_INSIDE = "sluice_agent"
_OPERATOR_ONLY = "pack.py"
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_OUR_IMPORT = re.compile(r"^( *from )sluice\.agent( |\.)", re.MULTILINE)
_SHEBANG = b"#!/usr/bin/env python3\n"


def packed() -> bytes:
    """Return a zip file that `python3 FILE MAIN_FILE [ARGS...]` runs."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(Path(__file__).parent.glob("*.py")):
            if path.name != _OPERATOR_ONLY:
                _add(archive, _place(path.name), _renamed(path.read_text()))
    return _SHEBANG + buffer.getvalue()


def _place(name: str) -> str:
    return name if name == "__main__.py" else f"{_INSIDE}/{name}"


def _renamed(source: str) -> str:
    return _OUR_IMPORT.sub(rf"\g<1>{_INSIDE}\g<2>", source)


def _add(archive: zipfile.ZipFile, name: str, source: str) -> None:
    entry = zipfile.ZipInfo(name, _FIXED_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, source)
