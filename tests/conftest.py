"""Whatever a Spark of the tests leaves behind, killed or not, it leaves below pytest's own folder."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import java

# The machine may be busy: how long a case takes is no rule of any test.
settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start Spark begin first: at the end, the other workers would wait for their minutes."""
    sessions = Counter(item.path for item in items if item.get_closest_marker("spark"))
    items.sort(key=lambda item: -sessions[item.path])


@dataclass(frozen=True)
class Places:
    """The folders in which Spark makes its own: for the JVMs, for blocks, and for Python."""

    java: Path
    blocks: Path
    python: Path

    def changed(self) -> dict[str, int]:
        """When anything was last made or removed in each folder."""
        places = (self.java, self.blocks, self.python)
        return {place.name: place.stat().st_mtime_ns for place in places}


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    root = tmp_path_factory.mktemp("spark")
    made = Places(root / "java", root / "blocks", root / "python")
    for place in (made.java, made.blocks, made.python, root / "conf"):
        place.mkdir()
    # Not JAVA_TOOL_OPTIONS: each JVM writes that it picked them up, where a program's own lines are compared.
    options = f"-Djava.io.tmpdir={made.java} -XX:-UsePerfData -XX:TieredStopAtLevel=1"
    (root / "conf" / "spark-defaults.conf").write_text(
        f"spark.driver.extraJavaOptions {options}\nspark.executor.extraJavaOptions {options}\n"
    )
    return made


@pytest.fixture(scope="session", autouse=True)
def _spark_keeps_to_its_places(places: Places) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(places.java.parent / "conf"))
        patch.setenv("SPARK_LOCAL_DIRS", str(places.blocks))
        patch.setenv("TMPDIR", str(places.python))
        patch.setattr(tempfile, "tempdir", str(places.python))
        for name, value in java.using_archive().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module", autouse=True)
def _modules_with_spark(places: Places) -> Iterator[list[str]]:
    """Fail a module whose Spark made its folders elsewhere. What lies in /tmp proves nothing: others use it, too."""
    started: list[str] = []
    before = places.changed()
    yield started
    if started:
        unused = [name for name, at in places.changed().items() if at == before[name]]
        assert not unused, (
            f"the Spark of {started[0]} made nothing in {unused}, so it did elsewhere"
        )


@pytest.fixture(autouse=True)
def _note_spark(request: pytest.FixtureRequest, _modules_with_spark: list[str]) -> None:
    if request.node.get_closest_marker("spark"):
        _modules_with_spark.append(request.node.name)
