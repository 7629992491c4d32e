"""What a line of the log says."""

import json
import logging
from collections.abc import Iterator

import pytest

from sluice import logs


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Leave the logging of the tests as it was."""
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_a_line_is_json_and_says_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(level="INFO", form="json")
    with logs.about(namespace="shop", job='clicks"ñ'), logs.about(incarnation=3):
        logging.getLogger("sluice.x").info("batch %d\nis late", 7)
    logging.getLogger("sluice.x").info("later")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    about = {"namespace": "shop", "job": 'clicks"ñ', "incarnation": 3}
    assert first.items() >= {**about, "level": "INFO", "message": "batch 7\nis late"}.items()
    assert not second.keys() & about.keys()


def test_plain_lines_are_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(level="WARNING", form="plain")
    log = logging.getLogger("sluice.x")
    log.info("unheard")
    log.warning("heard")
    assert capsys.readouterr().err.rstrip().endswith("WARNING sluice.x: heard")
