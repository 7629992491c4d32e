"""What a profile replaces and what it refuses, without a Spark: pyspark is real here, and Java is not.

`test_profiled_programs` has the real one.
"""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pyspark.sql.catalog
import pytest

from sluice.agent import profiling, sources
from sluice.agent.profiling import EXIT_CODE, NotProfilable, NotReplayable, Profile
from sluice.agent.sinks import Dropped, Folders
from sluice.agent.standins import BATCH_WRITER, CATALOG, StandIn
from tests.agent.running import Outcome, under_agent
from tests.docs.pages import ROOT

WORD = {
    "sinks": "drop",
    "checkpoint": "file:/copy/checkpoint",
    "startingOffsets": "earliest",
    "groupPrefix": "sluice-profile-views",
    "mostRows": 500,
}
PROFILE = Profile("file:/copy/checkpoint", "earliest", "sluice-profile-views", 500)

JAVA = """
import json, sys, threading
from types import SimpleNamespace
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamReader

class Java:
    def __init__(self, calls, method=""):
        self._calls, self._method = calls, method
    def __getattr__(self, name):
        return Java(self._calls, name)
    def __call__(self, *arguments):
        self._calls.append([self._method, *map(str, arguments)])
        return self

calls = []
session = SimpleNamespace(_jsparkSession=Java(calls), conf={"spark.sql.sources.default": "parquet"})
session._sc = SimpleNamespace(_jvm=Java([]))
session.readStream = DataStreamReader(session)
def tell():
    print(json.dumps(calls))
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "termination-log"


def profiled(pyz: Path, tmp_path: Path, program: str, log: Path, **environment: str) -> Outcome:
    """Run a program in a profile."""
    (tmp_path / "main.py").write_text(program)
    given = {
        "SLUICE_PROFILE": json.dumps(WORD),
        "SLUICE_TERMINATION_LOG": str(log),
        **environment,
    }
    return under_agent(pyz, ["main.py"], tmp_path, **given)


def test_a_profile_is_read_from_its_variable() -> None:
    assert profiling.from_environment({"SLUICE_PROFILE": json.dumps(WORD)}) == PROFILE
    assert profiling.from_environment({}) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sinks": "keep"}, "sinks of SLUICE_PROFILE must be 'drop', but is 'keep'"),
        ({"startingOffsets": "newest"}, "must be 'earliest' or 'latest', but is 'newest'"),
        ({"startingOffsets": ["latest"]}, "startingOffsets .* but is \\['latest'\\]"),
        ({"checkpoint": ""}, "checkpoint .* must be a text, but is ''"),
        ({"checkpoint": "/"}, "checkpoint .* must be a text, but is '/'"),
        ({"groupPrefix": None}, "groupPrefix .* must be a text, but is None"),
        ({"mostRows": 0}, "mostRows .* must be a whole number from 1 or null, but is 0"),
        ({"mostRows": True}, "mostRows .* but is True"),
        ({"mostRows": "500"}, "mostRows .* but is '500'"),
    ],
)
def test_a_profile_that_is_not_whole_is_refused_by_the_name_of_its_field(
    changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(NotProfilable) as refused:
        profiling.from_environment({"SLUICE_PROFILE": json.dumps({**WORD, **changes})})
    assert re.search(says, refused.value.told)


@pytest.mark.parametrize("text", ["", "drop", "[]", "7"])
def test_a_profile_that_is_none_keeps_the_program_from_running(
    pyz: Path, tmp_path: Path, log: Path, text: str
) -> None:
    ended = profiled(pyz, tmp_path, "print('ran')", log, SLUICE_PROFILE=text)

    assert (ended.stdout, ended.exit_code) == ("", EXIT_CODE)
    word = json.loads(log.read_text())
    assert word["class"] == "NotProfilable"
    assert word["message"].startswith("SLUICE_PROFILE")


FAKE = {
    "pyspark/__init__.py": "",
    "pyspark/version.py": "__version__ = '9.9'",
    "pyspark/sql/__init__.py": "",
    "pyspark/sql/streaming/__init__.py": "",
    "pyspark/sql/streaming/readwriter.py": "class DataStreamReader: pass",
}


@pytest.fixture
def other_pyspark(tmp_path: Path) -> Path:
    for name, source in FAKE.items():
        (tmp_path / "libraries" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "libraries" / name).write_text(source)
    return tmp_path / "libraries"


def test_a_program_does_not_begin_with_a_pyspark_that_lacks_a_patched_name(
    pyz: Path, tmp_path: Path, log: Path, other_pyspark: Path
) -> None:
    ended = profiled(pyz, tmp_path, "print('ran')", log, PYTHONPATH=str(other_pyspark))

    assert (ended.stdout, ended.exit_code) == ("", EXIT_CODE)
    word = json.loads(log.read_text())
    assert "has no class DataStreamWriter" in word["message"]
    assert "use PySpark 4.2" in word["message"]


@pytest.mark.parametrize(
    ("version", "says"),
    [("4.0.10", "lets statements within statements past"), ("3.4.4", "is older than those")],
)
def test_a_program_does_not_begin_with_a_pyspark_that_is_too_old_or_lets_statements_past(
    pyz: Path, tmp_path: Path, log: Path, other_pyspark: Path, version: str, says: str
) -> None:
    (other_pyspark / "pyspark/version.py").write_text(f"__version__ = '{version}'")
    ended = profiled(pyz, tmp_path, "print('ran')", log, PYTHONPATH=str(other_pyspark))

    assert (ended.stdout, ended.exit_code) == ("", EXIT_CODE)
    assert f"(version {version}) {says}" in json.loads(log.read_text())["message"]


def test_a_pyspark_that_the_program_finds_itself_is_refused_at_its_import(
    pyz: Path, tmp_path: Path, log: Path, other_pyspark: Path
) -> None:
    (other_pyspark / "pyspark/sql/streaming/readwriter.py").unlink()
    isolated = f"""
import sys
sys.path = [{str(other_pyspark)!r}] + [p for p in sys.path if 'site-packages' not in p]
for name in [name for name in sys.modules if name.split('.')[0] == 'pyspark']:
    del sys.modules[name]
print('ran', flush=True)
try:
    import pyspark
except Exception:
    pass
print('went on')
"""
    ended = profiled(pyz, tmp_path, isolated, log)

    assert (ended.stdout, ended.exit_code) == ("ran\n", EXIT_CODE)
    assert "has no module pyspark.sql.streaming.readwriter" in log.read_text()


def test_a_program_without_pyspark_runs_in_a_profile(pyz: Path, tmp_path: Path, log: Path) -> None:
    ended = profiled(pyz, tmp_path, "print('ran')", log)

    assert (ended.stdout, ended.exit_code) == ("ran\n", 0)
    assert not log.exists()


IN_A_THREAD = """
def run():
    {statement}
threading.Thread(target=run).start()
threading.Event().wait()
"""


@pytest.mark.parametrize("where", ["{statement}", IN_A_THREAD], ids=["main", "thread"])
def test_a_source_that_cannot_be_replayed_ends_the_program_from_any_thread(
    pyz: Path, tmp_path: Path, log: Path, where: str
) -> None:
    load = where.format(statement="session.readStream.format('rate').load()")
    ended = profiled(pyz, tmp_path, f"{JAVA}{load}\nprint('went on')", log)

    assert (ended.stdout, ended.exit_code) == ("", EXIT_CODE)
    word = json.loads(log.read_text())
    assert word["class"] == "NotReplayable"
    assert "the source 'rate'" in word["message"]


def test_a_session_of_spark_connect_is_refused(pyz: Path, tmp_path: Path, log: Path) -> None:
    program = """
from pyspark.sql import SparkSession
SparkSession.builder.remote("sc://somewhere").getOrCreate()
"""
    ended = profiled(pyz, tmp_path, program, log)

    assert ended.exit_code == EXIT_CODE
    assert "Spark Connect" in log.read_text()


ADVERTISEMENT = (
    f"{JAVA}sys.path.insert(0, {str(ROOT)!r})"
    + """
from jobs import advertisement
sys.argv[1:] = ["--bootstrap-servers=kafka:9092", "--input-topic=ads", "--output-topic=views"]
sys.argv += ["--checkpoint=file:/checkpoint/views", "--max-offsets-per-trigger=9000"]
options = advertisement._options()
output = advertisement._read(session, options)
query = (
    output.writeStream.queryName("advertisement")
    .format("kafka")
    .option("kafka.bootstrap.servers", options.bootstrap_servers)
    .option("topic", options.output_topic)
    .option("checkpointLocation", options.checkpoint)
    .outputMode("update")
    .trigger(processingTime=options.trigger)
    .start()
)
tell()
"""
)


def test_a_job_from_kafka_to_kafka_reads_all_as_nobody_else_and_names_no_other_broker(
    pyz: Path, tmp_path: Path, log: Path
) -> None:
    ended = profiled(pyz, tmp_path, ADVERTISEMENT, log)

    assert ended.exit_code == 0, ended.stderr
    calls = [tuple(call) for call in json.loads(ended.stdout)]
    start = calls.index(("writeStream",))
    assert set(calls[:start]) == {
        ("readStream",),
        ("format", "kafka"),
        ("option", "kafka.bootstrap.servers", "kafka:9092"),
        ("option", "subscribe", "ads"),
        ("option", "startingOffsets", "earliest"),
        ("option", "kafka.fetch.max.wait.ms", "10"),
        ("option", "groupIdPrefix", "sluice-profile-views"),
        ("option", "failOnDataLoss", "false"),
        ("option", "maxOffsetsPerTrigger", "500"),
        ("load",),
    }
    wanted = {
        ("queryName", "advertisement"),
        ("outputMode", "update"),
        ("format", "noop"),
        ("option", "checkpointLocation", "file:/copy/checkpoint/advertisement"),
        ("start",),
    }
    assert wanted <= set(calls[start:])
    assert "views" not in str(calls[start:])
    assert "kafka" not in str(calls[start:])


KAFKA_OPTIONS = {
    "subscribe": "ads",
    "StartingOffsets": '{"ads": {"0": 7}}',
    "startingTimestamp": "1",
    "startingOffsetsByTimestamp": "{}",
    "kafka.group.id": "views",
    "kafka.consumer.commit.groupid": "views",
    "groupIdPrefix": "views",
    "maxOffsetsPerTrigger": "9000",
    "minOffsetsPerTrigger": "8000",
    "minPartitions": "12",
    "FailOnDataLoss": "true",
    "kafka.security.protocol": "SASL_SSL",
}


def test_kafka_is_read_from_the_beginning_by_a_group_of_the_profile() -> None:
    kept = {"subscribe": "ads", "minPartitions": "12", "kafka.security.protocol": "SASL_SSL"}
    ours = {
        "startingOffsets": "earliest",
        "groupIdPrefix": "sluice-profile-views",
        "failOnDataLoss": "false",
    }

    assert sources.replayed("kafka", KAFKA_OPTIONS, PROFILE) == {
        **kept,
        **ours,
        "maxOffsetsPerTrigger": "500",
    }
    own = Profile("file:/copy", "earliest", "sluice-profile-views", None)
    assert sources.replayed(
        "org.apache.spark.sql.kafka010.KafkaSourceProvider", KAFKA_OPTIONS, own
    ) == {
        **kept,
        **ours,
        "maxOffsetsPerTrigger": "9000",
        "minOffsetsPerTrigger": "8000",
    }


def test_a_copy_of_the_live_stream_reads_the_newest_rows_as_many_a_batch_as_the_program_says() -> (
    None
):
    word = {**WORD, "startingOffsets": "latest", "mostRows": None}
    live = profiling.from_environment({"SLUICE_PROFILE": json.dumps(word)})
    assert live is not None
    options = sources.replayed("kafka", KAFKA_OPTIONS, live)
    assert options["startingOffsets"] == "latest"
    assert options["groupIdPrefix"] == "sluice-profile-views"
    assert options["maxOffsetsPerTrigger"] == "9000"
    assert options["FailOnDataLoss"] == "true"
    assert not {"StartingOffsets", "startingTimestamp", "kafka.group.id"} & set(options)


def test_a_copy_at_the_earliest_rows_goes_on_when_retention_deletes_them() -> None:
    for name in ("failOnDataLoss", "failondataloss", "FAILONDATALOSS"):
        options = sources.replayed("kafka", {name: "true"}, PROFILE)
        assert {key: value for key, value in options.items() if key.lower() == name.lower()} == {
            "failOnDataLoss": "false"
        }


@pytest.mark.parametrize("source", ["json", "textFile", "Delta", "iceberg", "table"])
def test_files_and_tables_are_read_as_the_program_says_and_stay_where_they_are(source: str) -> None:
    options = {"path": "here", "cleanSource": "delete"}
    assert sources.replayed(source, options, PROFILE) == {"path": "here"}


@pytest.mark.parametrize("source", ["queue", "com.shop.Source"])
def test_a_source_that_might_give_its_rows_only_once_is_not_read(source: str) -> None:
    with pytest.raises(NotReplayable) as refused:
        sources.replayed(source, {"path": "here"}, PROFILE)
    assert f"of the source {source!r} nobody knows" in refused.value.told


@pytest.mark.parametrize(
    "source",
    [
        *("rate", "Rate", "rate-micro-batch", "socket"),
        "org.apache.spark.sql.execution.streaming.sources.RateStreamProvider",
        "org.apache.spark.sql.execution.streaming.sources.TextSocketSourceProvider",
    ],
)
def test_a_source_that_makes_its_rows_cannot_be_replayed(source: str) -> None:
    with pytest.raises(NotReplayable):
        sources.replayed(source, {}, PROFILE)


def test_each_query_has_a_folder_of_its_own_and_keeps_it_when_it_is_started_again() -> None:
    folders = Folders("file:/copy/")
    started: list[tuple[str | None, str | None]] = [
        ("views", "cp/views"),
        ("views", "cp/views"),
        (None, "cp/other"),
        (None, None),
        (None, None),
        (None, "cp/other"),
        ("views", "cp/elsewhere"),
        ("../a b", None),
        ("q2", None),
        (None, "cp/third"),
    ]
    assert [folders.of(name, place).removeprefix("file:/copy/") for name, place in started] == [
        *("views", "views", "q0", "q1", "q2", "q0", "views-2"),
        *("---a-b", "q2-2", "q3"),
    ]


def test_what_a_writer_asks_of_java_and_nobody_knows_ends_the_program() -> None:
    written: list[str] = []
    writer = StandIn("DataFrameWriter", None, BATCH_WRITER, written.append)
    writer.mode("append").save("lake")

    with pytest.raises(NotProfilable) as refused:
        writer.saveToTheMoon("now")
    assert "DataFrameWriter calls 'saveToTheMoon' of Java" in refused.value.told
    assert written == ["DataFrameWriter.save"]


def test_of_all_that_a_catalog_asks_of_java_it_is_known_whether_it_writes() -> None:
    """Where a release of PySpark has more, profiles of programs that use it end, and here is the place to learn why."""
    asked = set(re.findall(r"_jcatalog\.(\w+)\(", inspect.getsource(pyspark.sql.catalog)))
    assert "createTable" in asked
    assert asked <= CATALOG.reads | CATALOG.writes
    assert not CATALOG.reads & CATALOG.writes


def test_a_batch_write_is_logged_once_and_counted(capfd: pytest.CaptureFixture[str]) -> None:
    dropped = Dropped()
    for _ in range(3):
        dropped.note("DataFrameWriter.save")
    dropped.tell()

    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [line.get("what") or line.get("counts") for line in lines] == [
        "DataFrameWriter.save",
        {"DataFrameWriter.save": 3},
    ]
