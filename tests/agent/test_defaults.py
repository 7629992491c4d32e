"""What a driver was given, and what its program has made of it."""

import os
from pathlib import Path

import pytest

from sluice.agent.defaults import given
from sluice.manifests.sparkconf import properties
from tests.agent.running import running
from tests.agent.streaming import SESSION, write

PROGRAM = SESSION.replace(
    ".getOrCreate()",
    """.appName("mine")
    .config("spark.executor.memory", "700m")
    .config("spark.dynamicAllocation.enabled", "true")
    .getOrCreate()""",
)


def folder(tmp_path: Path, settings: dict[str, str]) -> dict[str, str]:
    (tmp_path / "spark-defaults.conf").write_text(properties(settings))
    return {"SPARK_CONF_DIR": str(tmp_path)}


def test_what_the_operator_writes_is_read_as_it_was_meant(tmp_path: Path) -> None:
    ours = {"spark.master": "k8s://https://kubernetes.default.svc:443", "spark.empty": ""}
    others = {
        "spark.hadoop.fs.s3a.secret.key": "hidden",
        "spark.driver.extraJavaOptions": "-Xss4m",
        "spark.a:b": "named like that",
        "spark.path": "C:\\temp",
    }
    assert given(folder(tmp_path, {**ours, **others})) == ours


@pytest.mark.parametrize("environment", [{}, {"SPARK_CONF_DIR": "/nowhere"}])
def test_a_driver_that_was_given_nothing_has_overridden_nothing(
    environment: dict[str, str],
) -> None:
    assert given(environment) == {}


@pytest.mark.spark
def test_what_a_program_sets_otherwise_is_told_with_its_value(pyz: Path, tmp_path: Path) -> None:
    ours = {
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.app.name": "clicks",
    }
    off = {"spark.dynamicAllocation.enabled": "false"}
    java = Path(os.environ["SPARK_CONF_DIR"], "spark-defaults.conf").read_text()
    environment = folder(tmp_path, {**ours, **off})
    with (tmp_path / "spark-defaults.conf").open("a") as file:
        file.write(java)
    with running(pyz, write(tmp_path, PROGRAM + "time.sleep(600)"), **environment) as program:
        state = program.wait_for("the session", lambda state: state["spark"])
    assert state["spark"]["overridden"] == {
        "spark.app.name": "mine",
        "spark.dynamicAllocation.enabled": "true",
        "spark.executor.memory": "700m",
    }
