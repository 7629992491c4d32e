"""The models refuse what is wrong and say where, what and how to mend it. The rows are in `e2e/bad_input.py`."""

from typing import Any

import pytest

from e2e.bad_input import GOOD, ROWS, Refusal, Row, merged
from sluice.api import convert
from sluice.errors import InvalidSpec
from tests.support.jobs import resource

_SEEN_BY_MODELS = [row for row in ROWS if row.refusal is not Refusal.SERVER_ALONE]


def stored(body: dict[str, Any]) -> dict[str, Any]:
    """The object with the metadata that an API server adds."""
    return merged(resource(), {**body, "spec": None}) | {"spec": body["spec"]}


def test_there_is_nothing_wrong_with_what_the_rows_start_from() -> None:
    assert convert.streamjob(stored(GOOD)).key.name == "wrong"


@pytest.mark.parametrize("row", _SEEN_BY_MODELS, ids=lambda row: row.rule)
def test_the_models_refuse_it(row: Row) -> None:
    with pytest.raises(InvalidSpec) as refused:
        convert.streamjob(stored(row.body))
    for part in row.says:
        assert part in str(refused.value)


def test_an_annotation_that_would_pause_nothing_is_refused() -> None:
    with pytest.raises(InvalidSpec, match=r"sluice.dev/paused.*'yes'.*\"true\" or \"false\""):
        convert.streamjob(resource(annotations={"sluice.dev/paused": "yes"}))


def test_each_rule_is_in_the_table_once() -> None:
    rules = [row.rule for row in ROWS]
    assert len(set(rules)) == len(rules)


def test_all_problems_are_told_at_once() -> None:
    body = merged(GOOD, {"spec": {"executors": {"min": 0, "memory": "1G"}, "suspend": "maybe"}})
    with pytest.raises(InvalidSpec) as refused:
        convert.streamjob(stored(body))
    fields = {problem.field for problem in refused.value.problems}
    assert fields == {"spec.executors.min", "spec.executors.memory", "spec.suspend"}
