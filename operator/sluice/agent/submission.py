"""What PySpark starts the driver's JVM with.

The pod's address is known in the pod alone, so it can be in no file that the operator makes.
"""

from __future__ import annotations

from collections.abc import Mapping

VARIABLE = "PYSPARK_SUBMIT_ARGS"
_ADDRESS = "SLUICE_POD_IP"


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that make the driver listen on the pod's address, and tell executors that."""
    address = environment.get(_ADDRESS)
    if not address:
        return {}
    # Kubernetes tells an address of IPv6 without the brackets that Spark insists on.
    host = f"[{address}]" if ":" in address else address
    settings = {"spark.driver.host": host, "spark.driver.bindAddress": host}
    words = [f"--conf {name}={value}" for name, value in settings.items()]
    return {VARIABLE: " ".join([*words, "pyspark-shell"])}
