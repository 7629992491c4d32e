"""What `spark-submit` would do for a program: say where PySpark is, and start the driver's JVM with the pod's address.

That address is known in the pod alone, so it can be in no file that the operator makes.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

_ADDRESS = "SLUICE_POD_IP"


def modules(environment: Mapping[str, str]) -> list[str]:
    """Where Spark's own images have PySpark and py4j; nothing where PySpark is installed, or on the path already."""
    home = environment.get("SPARK_HOME")
    if not home or importlib.util.find_spec("pyspark") is not None:
        return []
    folder = Path(home, "python")
    return [str(folder), *sorted(str(path) for path in folder.glob("lib/py4j-*-src.zip"))]


def variables(environment: Mapping[str, str], found: list[str]) -> dict[str, str]:
    """The environment variables with which processes of Python find these modules, and executors the driver."""
    changed = {}
    if found:
        known = filter(None, [environment.get("PYTHONPATH")])
        changed["PYTHONPATH"] = os.pathsep.join([*known, *found])
    address = environment.get(_ADDRESS)
    if address:
        # Kubernetes tells an address of IPv6 without the brackets that Spark insists on.
        host = f"[{address}]" if ":" in address else address
        settings = {"spark.driver.host": host, "spark.driver.bindAddress": host}
        words = [f"--conf {name}={value}" for name, value in settings.items()]
        changed["PYSPARK_SUBMIT_ARGS"] = " ".join([*words, "pyspark-shell"])
    return changed
