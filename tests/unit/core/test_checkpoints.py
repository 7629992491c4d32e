"""What a checkpoint fixes, and what of a spec it overrules."""

import pytest

from sluice.core import checkpoints
from sluice.core.checkpoints import PARTITIONS, CheckpointReport, Ignored

STORE = "spark.sql.streaming.stateStore.providerClass"


def report(**settings: str) -> CheckpointReport:
    names = {"partitions": PARTITIONS, "store": STORE, "other": "spark.sql.other"}
    return CheckpointReport(settings={names[name]: value for name, value in settings.items()})


@pytest.mark.parametrize(
    ("reports", "pinned"),
    [
        ([], {}),
        ([None, CheckpointReport()], {}),
        ([report(partitions="4", other="x")], {PARTITIONS: "4"}),
        ([report(partitions="4"), None], {PARTITIONS: "4"}),
        ([report(partitions="4"), report(partitions="4", store="A")], {PARTITIONS: "4"}),
        ([report(partitions="4", store="A"), report(partitions="8", store="A")], {STORE: "A"}),
    ],
)
def test_a_job_is_pinned_by_what_the_checkpoints_of_all_its_queries_have(
    reports: list[CheckpointReport | None], pinned: dict[str, str]
) -> None:
    assert checkpoints.pinned_by(reports) == pinned


@pytest.mark.parametrize(
    ("conf", "ignored"),
    [
        ({}, ()),
        ({PARTITIONS: "4"}, ()),
        ({"spark.a": "1"}, ()),
        ({STORE: "B"}, ()),
        ({PARTITIONS: "8"}, (Ignored(PARTITIONS, "8", "4"),)),
    ],
)
def test_a_setting_is_ignored_where_the_checkpoint_has_another_value(
    conf: dict[str, str], ignored: tuple[Ignored, ...]
) -> None:
    assert checkpoints.ignored(conf, {PARTITIONS: "4"}) == ignored


def test_an_ignored_setting_is_told_with_the_field_and_both_values() -> None:
    assert str(Ignored(PARTITIONS, "8", "4")) == (
        "spec.application.sparkConf: spark.sql.shuffle.partitions: '8' is ignored by Spark: the checkpoint has '4'"
    )


@pytest.mark.parametrize(
    ("partitions", "cores", "useful"), [(8, 1, 8), (8, 3, 3), (8, 8, 1), (1, 4, 1)]
)
def test_executors_are_useful_as_long_as_each_has_a_partition(
    partitions: int, cores: int, useful: int
) -> None:
    assert checkpoints.useful_executors(partitions, cores) == useful


CHANCE = "0e4e4b2c-9a3c-4d32-8f0e-1a2b3c4d5e6f"


@pytest.mark.parametrize(
    ("location", "declared"),
    [
        ("file:/checkpoint/clicks", "file:///checkpoint/clicks"),
        ("file:///checkpoint/clicks/views", "file:///checkpoint/clicks"),
        ("file:/checkpoint/clicks/views", "file:///checkpoint/clicks/"),
        ("s3a://lake/clicks/views", "s3a://lake/clicks"),
        ("hdfs://name:8020/clicks", "hdfs:///clicks"),
        ("file:/checkpoint/my%20clicks/a", "file:///checkpoint/my clicks"),
        (f"file:/checkpoint/clicks/views/{CHANCE}", "file:///checkpoint/clicks"),
        (f"file:/checkpoint/clicks/views-{CHANCE}", "file:///checkpoint/clicks"),
    ],
)
def test_a_checkpoint_in_the_declared_place_or_below_it_is_where_it_belongs(
    location: str, declared: str
) -> None:
    assert checkpoints.misplaced(location, declared) is None


@pytest.mark.parametrize(
    ("location", "declared"),
    [
        ("file:/tmp/checkpoint", "file:///checkpoint/clicks"),
        ("file:/checkpoint/clicks-2", "file:///checkpoint/clicks"),
        ("file:/checkpoint", "file:///checkpoint/clicks"),
        ("s3a://other/clicks", "s3a://lake/clicks"),
        ("file:/clicks", "s3a://lake/clicks"),
        ("gs://lake/clicks", "s3a://lake/clicks"),
        ("hdfs://other:8020/clicks", "hdfs://name:8020/clicks"),
    ],
)
def test_a_checkpoint_elsewhere_is_told_with_both_places(location: str, declared: str) -> None:
    told = checkpoints.misplaced(location, declared)
    assert told is not None
    assert told.startswith(f"keeps its checkpoint at {location}, which is not in {declared}")


def test_a_checkpoint_whose_place_is_left_to_chance_is_told() -> None:
    told = checkpoints.misplaced(f"s3a://lake/clicks/{CHANCE}", "s3a://lake/clicks")
    assert told is not None
    assert "neither a name nor a place" in told
