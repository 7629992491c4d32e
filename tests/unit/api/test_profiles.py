"""A StreamProfile as it is stored, and the core's record of it: defaults, and what is refused."""

from datetime import timedelta
from typing import Any

import pytest

from e2e.bad_input import GOOD_PROFILE, PROFILE_ROWS, Row
from sluice.api import profiles
from sluice.core.application import JobKey
from sluice.core.profiling.records import Start
from sluice.core.quantities import MEBIBYTE
from sluice.errors import InvalidSpec
from tests.support.profiles import profile_resource


def stored(body: dict[str, Any]) -> dict[str, Any]:
    """The object with the metadata that an API server adds."""
    return {**profile_resource(), "spec": body["spec"]}


def test_there_is_nothing_wrong_with_what_the_rows_start_from() -> None:
    assert profiles.streamprofile(stored(GOOD_PROFILE)).executors == (1, 2)


@pytest.mark.parametrize("row", PROFILE_ROWS, ids=lambda row: row.rule)
def test_the_models_refuse_it(row: Row) -> None:
    with pytest.raises(InvalidSpec) as refused:
        profiles.streamprofile(stored(row.body))
    for part in row.says:
        assert part in str(refused.value)


def test_the_namespace_of_the_job_is_no_place_for_its_copies() -> None:
    with pytest.raises(InvalidSpec, match=r"spec.namespaces\[1\].*'shop'.*another namespace"):
        profiles.streamprofile(profile_resource(namespaces=["lab", "shop"]))


def test_a_profile_that_names_its_job_alone_has_sensible_defaults() -> None:
    declared = profiles.streamprofile(profile_resource(executors=[]))
    assert declared.job == JobKey("shop", "clicks")
    assert declared.start is Start.EARLIEST
    assert declared.executors == ()
    assert declared.allowance.core_seconds == 7200
    assert declared.allowance.wall == timedelta(minutes=30)
    assert declared.parallel == 2
    assert declared.storage.size == 1024 * MEBIBYTE
    assert declared.storage.storage_class is None
