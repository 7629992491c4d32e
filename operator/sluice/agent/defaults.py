"""The settings with which the operator starts a driver, as its file has them.

What the program's own builder says is in the properties of the JVM before anybody could look, so only the file tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_FOLDER, _FILE = "SPARK_CONF_DIR", "spark-defaults.conf"
_SECRET = re.compile("secret|password|token|key", re.IGNORECASE)
_ADDED_TO = "extraJavaOptions"
"""Spark puts options of its own before the given ones."""


def given(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings by name, but for secrets, options of Java, and what the file has escaped: none of them is ours."""
    path = Path(environment.get(_FOLDER, "")) / _FILE
    if not path.is_file():
        return {}
    lines = (line.partition("=") for line in path.read_text().splitlines() if "\\" not in line)
    return {
        name: value
        for name, is_set, value in lines
        if is_set and not _SECRET.search(name) and not name.endswith(_ADDED_TO)
    }
