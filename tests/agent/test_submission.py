"""What `spark-submit` would do: tell Spark the driver's address, and find PySpark where Spark's own images have it."""

import os
import socket
import zipfile
from pathlib import Path

import py4j
import pyspark
import pytest

from tests.agent.running import under_agent

pytestmark = pytest.mark.spark

PROGRAM = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local-cluster[1,1,1024]").config("spark.ui.enabled", "false").getOrCreate()
print(spark.range(100).count(), spark.conf.get("spark.driver.host"), os.environ.get("PYTHONPATH"))
"""


@pytest.mark.parametrize(("address", "host"), [("127.0.0.2", "127.0.0.2"), ("::1", "[::1]")])
def test_executors_find_the_driver_by_the_pods_address(
    pyz: Path, tmp_path: Path, address: str, host: str
) -> None:
    if address == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("this kernel has no IPv6")
    (tmp_path / "main.py").write_text(PROGRAM)
    done = under_agent(pyz, ["main.py"], tmp_path, SLUICE_POD_IP=address)
    assert done.stdout.split() == ["100", host, str(os.environ.get("PYTHONPATH"))], done.stderr


def spark_home(root: Path) -> Path:
    """Spark as its own images have it, where PySpark is no installed module."""
    installed, home = Path(pyspark.__file__).parent, root / "spark"
    (home / "python" / "lib").mkdir(parents=True)
    for name in ("bin", "jars"):
        (home / name).symlink_to(installed / name)
    (home / "python" / "pyspark").symlink_to(installed)
    with zipfile.ZipFile(home / "python" / "lib" / "py4j-0.10-src.zip", "w") as archive:
        for path in Path(py4j.__file__).parent.glob("*.py"):
            archive.write(path, f"py4j/{path.name}")
    return home


def test_pyspark_is_found_where_sparks_own_images_have_it(pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    home = spark_home(tmp_path)
    given = {"SLUICE_POD_IP": "127.0.0.1", "SPARK_HOME": str(home), "PYTHONPATH": "/opt/mine"}
    without_installed_modules = ["-S"]
    done = under_agent(pyz, ["main.py"], tmp_path, without_installed_modules, **given)
    found = f"/opt/mine:{home}/python:{home}/python/lib/py4j-0.10-src.zip"
    assert done.stdout.split() == ["100", "127.0.0.1", found], done.stderr
