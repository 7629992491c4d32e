"""What a change of the spec means."""

import pytest

from sluice.core.changes import ChangeClass, classify, fingerprint, restored

BEFORE: dict[str, object] = {
    "application": {"image": "a:1", "sparkConf": {"spark.a": "1"}, "arguments": ["x", "y"]},
    "executors": {"min": 1, "max": 4, "cores": 1},
    "checkpoint": {"claim": "c", "path": "p"},
    "slo": {"objective": 0.99},
    "suspend": False,
}


@pytest.mark.parametrize(
    ("part", "value", "kind", "fields"),
    [
        ("slo", {"objective": 0.9}, "None", ()),
        ("scaling", {"mode": "Auto"}, "None", ()),
        ("suspend", True, "None", ()),
        ("executors", {"min": 2, "max": 4, "cores": 1}, "Live", ("executors.min",)),
        ("executors", {"min": 1, "max": 4, "cores": 2}, "Restart", ("executors.cores",)),
        ("checkpoint", {"claim": "d", "path": "p"}, "Migration", ("checkpoint.claim",)),
        ("sources", [{"kafka": {"topics": ["t"]}}], "Restart", ("sources[0].kafka.topics[0]",)),
    ],
)
def test_the_changed_field_decides_the_class(
    part: str, value: object, kind: str, fields: tuple[str, ...]
) -> None:
    change = classify(BEFORE, {**BEFORE, part: value})
    assert (change.kind, change.fields) == (ChangeClass(kind), fields)


@pytest.mark.parametrize(
    ("conf", "kind"),
    [
        ({"spark.a": "2"}, "Restart"),
        ({}, "Restart"),
        ({"spark.a": "1", "spark.sql.shuffle.partitions": "8"}, "Migration"),
        ({"spark.a": "2", "spark.sql.shuffle.partitions": "8"}, "Migration"),
        ({"spark.a": "1"}, "None"),
    ],
)
def test_settings_that_the_checkpoint_pins_are_a_migration(conf: dict[str, str], kind: str) -> None:
    application = {"image": "a:1", "sparkConf": conf, "arguments": ["x", "y"]}
    assert classify(BEFORE, {**BEFORE, "application": application}).kind == kind


@pytest.mark.parametrize(
    ("conf", "kind"),
    [
        ({"spark.sql.shuffle.partitions": "4"}, "Restart"),
        ({"spark.sql.shuffle.partitions": "8"}, "Migration"),
        ({"spark.sql.streaming.multipleWatermarkPolicy": "max"}, "Migration"),
    ],
)
def test_a_setting_may_say_what_the_checkpoint_is_known_to_have(
    conf: dict[str, str], kind: str
) -> None:
    after = {**BEFORE, "application": {"image": "a:1", "sparkConf": conf, "arguments": ["x", "y"]}}
    before = {**BEFORE, "application": {"image": "a:1", "arguments": ["x", "y"]}}
    pinned = {"spark.sql.shuffle.partitions": "4"}
    assert classify(before, after, pinned).kind == kind
    assert classify(after, before, pinned).kind == ("Restart" if "shuffle" in str(conf) else kind)


def with_executor(**executor: object) -> dict[str, object]:
    application = BEFORE["application"]
    assert isinstance(application, dict)
    return {**BEFORE, "application": {**application, "executor": executor}}


@pytest.mark.parametrize(
    ("executor", "kind"),
    [
        ({"cpuLimit": "2"}, "Live"),
        ({"cpuRequest": "500m", "cpuLimit": "2"}, "Live"),
        ({"cpuLimit": "2", "memoryOverhead": "1Gi"}, "Restart"),
        ({"template": {"metadata": {"labels": {"a": "b"}}}}, "Restart"),
    ],
)
def test_only_the_cpu_of_executors_changes_while_they_run(
    executor: dict[str, object], kind: str
) -> None:
    assert classify(BEFORE, with_executor(**executor)).kind == kind


def test_of_the_driver_the_cpu_is_a_restart() -> None:
    application = BEFORE["application"]
    assert isinstance(application, dict)
    after = {**BEFORE, "application": {**application, "driver": {"cpuLimit": "2"}}}
    assert classify(BEFORE, after).kind is ChangeClass.RESTART


def test_what_goes_back_to_a_good_spec_keeps_the_cpu_that_is_declared() -> None:
    good = with_executor(cpuRequest="1", cpuLimit="2", memoryOverhead="1Gi")
    declared = with_executor(cpuLimit="3", memoryOverhead="2Gi")
    back = restored(declared, good)
    assert back == with_executor(cpuLimit="3", memoryOverhead="1Gi")
    assert restored(BEFORE, BEFORE) == BEFORE


def test_numbers_of_executors_that_are_not_declared_are_not_those_of_the_good_spec() -> None:
    good = {**BEFORE, "executors": {"min": 1, "max": 8, "initial": 2, "cores": 1}}
    declared = {**BEFORE, "executors": {"min": 4, "max": 8, "cores": 2}}
    assert restored(declared, good)["executors"] == {"min": 4, "max": 8, "cores": 1}


def test_the_costliest_field_names_the_change() -> None:
    after = {
        **BEFORE,
        "executors": {"min": 2, "max": 4, "cores": 1},
        "checkpoint": {"uri": "s3a://b"},
    }
    change = classify(BEFORE, after)
    assert change.kind is ChangeClass.MIGRATION
    assert str(change) == "spec.checkpoint.claim, spec.checkpoint.path, spec.checkpoint.uri"


def test_a_field_that_is_absent_equals_one_that_is_empty() -> None:
    assert classify(BEFORE, {**BEFORE, "alternates": [], "profiling": {}}).kind is ChangeClass.NONE


@pytest.mark.parametrize(
    ("part", "value", "is_another"),
    [
        ("slo", {"objective": 0.9}, False),
        ("executors", {"min": 2, "max": 4, "cores": 1}, False),
        ("executors", {"min": 1, "max": 4, "cores": 2}, True),
        ("checkpoint", {"claim": "d", "path": "p"}, True),
        ("application", {"image": "b:1"}, True),
    ],
)
def test_two_specs_have_one_fingerprint_unless_one_needs_a_new_driver(
    part: str, value: object, is_another: bool
) -> None:
    assert (fingerprint(BEFORE) != fingerprint({**BEFORE, part: value})) is is_another


def test_what_is_restored_needs_no_new_driver_and_keeps_the_rest_as_declared() -> None:
    declared = {
        "application": {"image": "b:1"},
        "sources": [{"kafka": {"topics": ["t"]}}],
        "executors": {"min": 2, "max": 5, "initial": 3, "cores": 9},
        "checkpoint": {"claim": "c", "path": "p"},
        "slo": {"objective": 0.5},
        "suspend": True,
    }
    back = restored(declared, BEFORE)
    assert classify(BEFORE, back).kind in (ChangeClass.NONE, ChangeClass.LIVE)
    assert back["slo"] == {"objective": 0.5}
    assert back["suspend"] is True
    assert back["executors"] == {"min": 2, "max": 5, "initial": 3, "cores": 1}
