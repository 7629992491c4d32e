"""The driver's address, as Spark takes it, told of a driver with an executor of its own."""

import socket
from pathlib import Path

import pytest

from tests.agent.running import under_agent

PROGRAM = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local-cluster[1,1,1024]").config("spark.ui.enabled", "false").getOrCreate()
print(spark.range(100).count(), spark.conf.get("spark.driver.host"))
"""


@pytest.mark.parametrize(("address", "host"), [("127.0.0.2", "127.0.0.2"), ("::1", "[::1]")])
def test_executors_find_the_driver_by_the_pods_address(
    pyz: Path, tmp_path: Path, address: str, host: str
) -> None:
    if address == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("this kernel has no IPv6")
    (tmp_path / "main.py").write_text(PROGRAM)
    done = under_agent(pyz, ["main.py"], tmp_path, SLUICE_POD_IP=address)
    assert done.stdout.split() == ["100", host], done.stderr
