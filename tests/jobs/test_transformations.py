"""The jobs' transformations, on one Spark thread and static data, agree with what the checker expects."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from jobs.load import accounts, events

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

WINDOW = 10_000


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .appName("transformations")
        .config("spark.pyspark.python", sys.executable)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    yield session
    session.stop()


def sent(schema: str, count: int = 500) -> list[events.Fields]:
    return [
        events.make_event(schema, 1, number, 1_700_000_000_000 + number * 137).fields
        for number in range(count)
    ]


def as_kafka(spark: Any, fields: list[events.Fields]) -> Any:
    return spark.createDataFrame(
        [(json.dumps(event).encode(),) for event in fields], "value binary"
    )


def account_of(job: str, fields: list[events.Fields], output: Any) -> accounts.Account:
    expected: accounts.Expected = {}
    for event in fields:
        accounts.JOBS[job].expect(event, WINDOW, expected)
    observed = accounts.Observed(windowed=accounts.JOBS[job].windowed)
    for row in output.collect():
        value = json.loads(row.value)
        observed.add(accounts.JOBS[job].identity(value), accounts.JOBS[job].value(value))
    assert expected
    return accounts.compare(expected, observed)


def test_counts_of_views_are_what_the_checker_expects(spark: Any) -> None:
    from jobs import advertisement as job

    fields = sent("ads")
    views = job.enrich_views(job.parse(as_kafka(spark, fields)), job.campaigns(spark))
    output = job.counts_for_kafka(job.count_by_window(views, "10 seconds", "30 seconds"))
    assert account_of("advertisement", fields, output).is_right


def test_passthrough_keeps_each_view_once_with_its_campaign(spark: Any) -> None:
    from jobs import advertisement as job

    fields = sent("ads")
    output = job.views_for_kafka(
        job.enrich_views(job.parse(as_kafka(spark, fields)), job.campaigns(spark))
    )
    account = account_of("advertisement-passthrough", fields, output)
    assert account.is_right
    assert account.duplicates == 0


def test_top_speeds_are_what_the_checker_expects(spark: Any) -> None:
    from jobs import top_speed as job

    fields = sent("cars")
    speeds = job.top_speeds(
        job.parse(as_kafka(spark, fields)), "10 seconds", "10 seconds", "30 seconds"
    )
    assert account_of("top-speed", fields, job.speeds_for_kafka(speeds)).is_right


def test_sliding_windows_overlap(spark: Any) -> None:
    from jobs import top_speed as job

    parsed = job.parse(as_kafka(spark, sent("cars", 1)))
    assert job.top_speeds(parsed, "10 seconds", "5 seconds", "30 seconds").count() == 2


def test_enrichment_keeps_every_record(spark: Any) -> None:
    from jobs import enrichment as job

    fields = sent("enrichment", 50)
    output = job.records_for_kafka(job.look_up(job.parse(as_kafka(spark, fields)), 1))
    assert account_of("enrichment", fields, output).is_right


def test_the_wait_survives_the_optimizer(spark: Any) -> None:
    from jobs import enrichment as job

    output = job.records_for_kafka(
        job.look_up(job.parse(as_kafka(spark, sent("enrichment", 1))), 25)
    )
    assert (
        "reflect(java.lang.Thread, sleep, 25"
        in output._jdf.queryExecution().optimizedPlan().toString()
    )
