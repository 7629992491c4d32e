"""Spark's JVMs of the image map an archive of classes, unless a user's classes are to come before them."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from e2e.images.recipes import ROOT
from images.spark.classes import pathing

JARS = "/opt/pyspark/jars/*"


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """The image's `java` with one behind it that shows its arguments, one for each NUL."""
    real = tmp_path / "real"
    real.write_text("#!/bin/bash\nprintf '%s\\0' \"$@\"\n")
    real.chmod(0o755)
    script = tmp_path / "java"
    text = (ROOT / "images" / "spark" / "java.sh").read_text()
    assert "java=/usr/bin/java\n" in text
    script.write_text(text.replace("java=/usr/bin/java\n", f"java={real}\n"))
    script.chmod(0o755)
    return script


def arguments(java: Path, *given: str) -> list[str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "SPARK_HOME": "/opt/pyspark",
        "SPARK_CONF_DIR": "/opt/conf",
    }
    done = subprocess.run(
        [java, *given], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split("\0")[:-1]


@pytest.mark.parametrize("path", [JARS, f"/opt/conf:{JARS}", f"/opt/conf/:{JARS}:/more/*"])
def test_a_jvm_of_spark_maps_the_archive_and_keeps_all_its_options(java: Path, path: str) -> None:
    told = arguments(java, "-Dtext=a b", "-cp", path, "-Xmx1g", "org.apache.Main", "-cp", "", "x y")

    assert told == [
        "-XX:SharedArchiveFile=/opt/spark/classes/spark.jsa",
        "-Dtext=a b",
        "-cp",
        f"/opt/spark/classes/spark.jar:{path}",
        "-Xmx1g",
        "org.apache.Main",
        "-cp",
        "",
        "x y",
    ]


@pytest.mark.parametrize(
    "given",
    [
        ["-cp", f"/the/users.jar:/opt/conf/:{JARS}", "org.apache.Main"],
        ["-cp", f"/opt/conf:/the/users.jar:{JARS}", "org.apache.Main"],
        ["-cp", "/elsewhere/*", "Main"],
        ["-version"],
        ["-cp"],
    ],
)
def test_what_a_user_puts_before_the_classes_of_spark_stays_there(
    java: Path, given: list[str]
) -> None:
    assert arguments(java, *given) == given


def test_the_jar_for_all_jars_names_them_in_order_and_relative_to_itself(tmp_path: Path) -> None:
    jars = tmp_path / "venv" / "jars"
    jars.mkdir(parents=True)
    names = [f"library-{number:03}-with-a-long-name-1.2.3.jar" for number in range(40)]
    for name in [*reversed(names), "notes.txt"]:
        (jars / name).touch()

    pathing.main(str(jars), str(tmp_path / "spark.jar"))

    with zipfile.ZipFile(tmp_path / "spark.jar") as jar:
        lines = jar.read("META-INF/MANIFEST.MF").decode().split("\r\n")
    assert max(map(len, lines)) <= 72
    assert lines[0] == "Manifest-Version: 1.0"
    assert lines[-2:] == ["", ""]
    whole = lines[1] + "".join(line.removeprefix(" ") for line in lines[2:-2])
    assert whole == "Class-Path: " + " ".join(f"venv/jars/{name}" for name in names)
