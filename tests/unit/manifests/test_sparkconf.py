"""The Spark settings of a job, and that Spark reads back what was meant."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.core.ownedconf import OWNED_SETTINGS, is_owned
from sluice.manifests.sparkconf import DEFAULTS, properties, spark_settings
from tests.support.jobs import job, resource
from tests.support.properties import read_properties

APPLICATION = resource()["spec"]["application"]

# Java's strings cannot hold half a surrogate pair, nor can ours be sent to the API server.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(settings=st.dictionaries(texts.filter(bool), texts, max_size=5))
@example({"spark.a b": "=c", "#x": ":", "!": " lead", "k:=": "back\\slash", "u": "ü€😀"})
@example({"spark.a": "line\nline\r\n\tend\f", "b": "trailing\\"})
def test_java_reads_back_what_was_written(settings: dict[str, str]) -> None:
    assert read_properties(properties(settings)) == settings


def test_the_reader_of_these_tests_knows_java_s_rules() -> None:
    text = "# comment\n! too\na b\n  c = d\ne:f\ng\\ h i\\\n   j\nk\nl=\\u00fc\n"
    assert read_properties(text) == {
        "a": "b",
        "c": "d",
        "e": "f",
        "g h": "ij",
        "k": "",
        "l": "ü",
    }


def test_users_change_defaults_and_not_what_the_operator_decides() -> None:
    conf = {"spark.decommission.enabled": "false", "spark.eventLog.enabled": "true"}
    settings = spark_settings(job(application={**APPLICATION, "sparkConf": conf}), 3)
    assert settings["spark.decommission.enabled"] == "false"
    assert settings["spark.eventLog.enabled"] == "true"
    assert settings["spark.dynamicAllocation.enabled"] == "false"


def test_no_number_of_lost_executors_ends_a_driver() -> None:
    settings = spark_settings(job(), 3)
    assert int(settings["spark.executor.maxNumFailures"]) == 2**31 - 1
    assert settings["spark.executor.failuresValidityInterval"] == "10m"


def test_executors_of_each_incarnation_have_names_of_their_own() -> None:
    prefix = "spark.kubernetes.executor.podNamePrefix"
    assert spark_settings(job(), 3)[prefix] == "clicks-3"


def test_the_size_of_the_pods_is_what_the_spec_says() -> None:
    settings = spark_settings(
        job(
            application={
                **APPLICATION,
                "driver": {"memory": "2Gi"},
                "executor": {"memoryOverhead": "1Gi", "cpuRequest": "250m", "cpuLimit": "1500m"},
            },
            executors={"min": 2, "max": 3, "cores": 2, "memory": "768Mi"},
        ),
        1,
    )
    expected = {
        "spark.driver.memory": "2048m",
        "spark.executor.instances": "2",
        "spark.executor.cores": "2",
        "spark.executor.memory": "768m",
        "spark.executor.memoryOverhead": "1024m",
        "spark.kubernetes.executor.request.cores": "250m",
        "spark.kubernetes.executor.limit.cores": "1500m",
    }
    assert {name: settings[name] for name in expected} == expected


@pytest.mark.parametrize("path", ["clicks", "a/b/"])
def test_queries_without_a_place_of_their_own_use_the_job_s_checkpoint(path: str) -> None:
    settings = spark_settings(job(checkpoint={"claim": "checkpoints", "path": path}), 1)
    place = settings["spark.sql.streaming.checkpointLocation"]
    assert place == f"file:///checkpoint/{path.rstrip('/')}"


def test_connections_of_a_job_are_authenticated_and_encrypted() -> None:
    settings = spark_settings(job(), 1)
    assert settings["spark.authenticate"] == "true"
    assert settings["spark.network.crypto.enabled"] == "true"
    assert not any("secret" in value for name, value in settings.items() if "file" not in name)


def test_every_setting_that_the_operator_sets_for_good_is_refused_from_users() -> None:
    changed = job(application={**APPLICATION, "imagePullSecrets": ["a"]})
    free = {
        name
        for name in spark_settings(changed, 1)
        if not any(is_owned(name, owned) for owned in OWNED_SETTINGS)
    }
    assert free == set(DEFAULTS)
