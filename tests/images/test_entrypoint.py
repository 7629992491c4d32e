"""The Spark image's entrypoint gives a driver its command and an executor Spark's own command line."""

import os
import subprocess
from pathlib import Path

import pytest

from e2e.images.recipes import ROOT

ENTRYPOINT = ROOT / "images" / "spark" / "entrypoint.sh"
EXECUTOR = {
    "JAVA_HOME": "/opt/java",
    "SPARK_HOME": "/opt/pyspark",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@198.18.0.7:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_EXECUTOR_MEMORY": "600m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "198.18.0.8",
    "SPARK_EXECUTOR_POD_NAME": "job-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
}


@pytest.fixture
def path_with_tini(tmp_path: Path) -> str:
    """A tini that shows the command it was given, one argument per NUL, instead of running it."""
    tini = tmp_path / "tini"
    tini.write_text("#!/bin/bash\nprintf '%s\\0' \"$@\"\n")
    tini.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def run(path: str, arguments: list[str], environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [ENTRYPOINT, *arguments],
        env={"PATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\0")[:-1]


def test_the_command_of_a_driver_passes_through_unchanged(path_with_tini: str) -> None:
    command = ["python3", "/opt/sluice/agent.pyz", "main.py", "--name", "two words", ""]
    assert run(path_with_tini, command, {}) == ["-s", "--", *command]


def test_an_executor_gets_its_java_options_in_numeric_order_with_their_spaces(
    path_with_tini: str,
) -> None:
    options = {
        f"SPARK_JAVA_OPT_{number}": f"-Doption{number}=a b\nc={number}" for number in range(12)
    }
    command = run(path_with_tini, ["executor"], {**EXECUTOR, **options})
    assert command[:3] == ["-s", "--", "/opt/java/bin/java"]
    assert command[3:15] == [f"-Doption{number}=a b\nc={number}" for number in range(12)]


def test_an_executor_is_told_all_that_spark_says_about_it(path_with_tini: str) -> None:
    command = run(path_with_tini, ["executor"], EXECUTOR)
    backend = command.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    assert command[3:backend] == [
        "-Xms600m",
        "-Xmx600m",
        "-cp",
        "/opt/spark/conf:/opt/pyspark/jars/*",
    ]
    flags = dict(zip(command[backend + 1 :: 2], command[backend + 2 :: 2], strict=True))
    assert flags == {
        "--driver-url": EXECUTOR["SPARK_DRIVER_URL"],
        "--executor-id": "3",
        "--cores": "1",
        "--app-id": "spark-1",
        "--hostname": "198.18.0.8",
        "--resourceProfileId": "0",
        "--podName": "job-exec-3",
    }


def test_extra_classes_come_before_those_of_spark(path_with_tini: str) -> None:
    environment = {**EXECUTOR, "SPARK_CONF_DIR": "/conf", "SPARK_EXTRA_CLASSPATH": "/extra/*"}
    command = run(path_with_tini, ["executor"], environment)
    assert command[command.index("-cp") + 1] == "/conf:/extra/*:/opt/pyspark/jars/*"


def test_an_executor_without_its_environment_fails_at_once(path_with_tini: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        run(path_with_tini, ["executor"], {})
    assert "unbound variable" in failure.value.stderr
