"""The Java of tests that start Spark: it maps an archive of Spark's classes (class data sharing), where there is one.

More than half of a start goes into finding and verifying classes. `python -m tests.support.java` makes the
archive; `make unit` does before it begins.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pyspark

HOME = Path(__file__).parent
"""A JAVA_HOME. Its `java` heeds what `environment` says."""

ARCHIVE = Path(__file__).parents[3] / "build" / f"spark-{pyspark.__version__}.jsa"
"""One for each PySpark: an archive knows the jars that it was made of."""


def using_archive() -> Mapping[str, str]:
    """What makes the Sparks of a program map the archive; without one, they are started as ever."""
    if not ARCHIVE.exists():
        return {}
    # An archive of other jars than these is not used, and nothing is written of it.
    return environment(f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:disable")


def environment(*options: str) -> Mapping[str, str]:
    """What makes HOME the Java of a program, with more options."""
    return {
        "JAVA_HOME": str(HOME),
        "SLUICE_TESTS_JAVA": real(),
        "SLUICE_TESTS_JAVA_OPTIONS": " ".join(options),
    }


def real() -> str:
    """The path of the machine's own `java`."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        raise FileNotFoundError("no java on the PATH, nor in JAVA_HOME")
    return found
