"""The hooks against a package of pyspark's shape, imported in the ways in which users have pyspark."""

import zipfile
from pathlib import Path

import pytest

from tests.agent.running import plainly, under_agent

SESSION = """
class SparkSession:
    def __init__(self, name):
        'Make a session.'
        if not name:
            raise ValueError('no name')
        self.name = name
"""
CONTEXT = """
class SparkContext:
    def stop(self):
        return 'stopped'
"""
FILES = {
    "pyspark/__init__.py": "from pyspark.core.context import SparkContext",
    "pyspark/core/__init__.py": "",
    "pyspark/core/context.py": CONTEXT,
    "pyspark/context.py": "from pyspark.core.context import SparkContext",
    "pyspark/sql/__init__.py": "from pyspark.sql.session import SparkSession",
    "pyspark/sql/session.py": SESSION,
    "pyspark/sql/streaming/__init__.py": "",
    "pyspark/sql/streaming/readwriter.py": "class DataStreamWriter: pass  # without _sq",
}
PROGRAM = """
import inspect, sys
sys.path.insert(0, {where!r})
import pyspark.context, pyspark.sql.streaming.readwriter
from pyspark.sql import SparkSession
module = sys.modules['pyspark.sql.session']
print(module.__loader__, module.__spec__.loader is module.__loader__)
print(SparkSession('orders').name, pyspark.SparkContext().stop())
print(inspect.signature(SparkSession), SparkSession.__init__.__doc__)
print(inspect.getsource(module) != '')
SparkSession('')
"""
HOOKS = """
def depth(function):
    return 1 + depth(function.__wrapped__) if hasattr(function, '__wrapped__') else 0
print(depth(SparkSession.__init__), depth(pyspark.SparkContext.stop))
"""


@pytest.fixture(params=["folder", "zip"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "zip":
        with zipfile.ZipFile(tmp_path / "pyspark.zip", "w") as archive:
            for name, source in FILES.items():
                archive.writestr(name, source)
        return tmp_path / "pyspark.zip"
    for name, source in FILES.items():
        (tmp_path / "libraries" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "libraries" / name).write_text(source)
    return tmp_path / "libraries"


def test_a_hooked_pyspark_looks_and_fails_as_plain(where: Path, pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM.format(where=str(where)))
    plain = plainly(["main.py"], tmp_path)
    under = under_agent(pyz, ["main.py"], tmp_path)

    assert (under.stderr, under.exit_code) == (plain.stderr, plain.exit_code)
    # The loader's repr holds an address.
    assert [line.split(" at 0x")[0] for line in under.stdout.splitlines()[1:]] == [
        line.split(" at 0x")[0] for line in plain.stdout.splitlines()[1:]
    ]
    assert "no name" in under.stderr


def test_pyspark_is_hooked_once_wherever_it_comes_from(
    where: Path, pyz: Path, tmp_path: Path
) -> None:
    program = PROGRAM.replace("SparkSession('')\n", HOOKS)
    (tmp_path / "main.py").write_text(program.format(where=str(where)))

    assert under_agent(pyz, ["main.py"], tmp_path).stdout.splitlines()[-1] == "1 1"
