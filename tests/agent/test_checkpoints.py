"""When a checkpoint is read, and that a store that fails or hangs holds nothing up; `test_streaming` has real ones."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from sluice.agent.checkpoints import Reader
from sluice.agent.reading import Query
from sluice.agent.records import Checkpoint

QUERY = Query(java=None, name="orders", id="q", run_id="run-1")
EMPTY = Checkpoint("s3a://bucket/orders", None, None, None, ())
FULL = Checkpoint("s3a://bucket/orders", 7, 5.0, "v1", (("spark.sql.shuffle.partitions", "4"),))


class Store:
    """A store that gives one answer after the other."""

    def __init__(self, *answers: Checkpoint | Exception) -> None:
        self.answers = list(answers)
        self.reader = Reader(self._read)

    def _read(self, _jvm: Any, _query: Any) -> Checkpoint:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def told(self, has_batch: bool, query: Query = QUERY) -> Checkpoint | None:
        """Ask, let the reading end, and ask again."""
        self.reader.of(query, None, has_batch)
        for thread in threading.enumerate():
            if thread.name == "sluice-agent-checkpoint":
                thread.join()
        return self.reader.of(query, None, has_batch)


def test_a_checkpoint_is_read_once_in_each_run() -> None:
    store = Store(FULL, replace(FULL, last_batch=9))

    assert [store.told(False), store.told(True), store.told(True)] == [FULL, FULL, FULL]
    again = store.told(False, Query(java=None, name="orders", id="q", run_id="run-2"))
    assert again is not None
    assert again.last_batch == 9


def test_an_empty_place_is_read_once_more_when_a_batch_was_committed() -> None:
    store = Store(EMPTY, FULL)

    assert [store.told(False), store.told(False), store.told(True)] == [EMPTY, EMPTY, FULL]


def test_a_store_that_fails_is_asked_again_with_the_first_batch_only(
    capfd: pytest.CaptureFixture[str],
) -> None:
    store = Store(OSError("no such bucket"), OSError("no such bucket"), FULL)

    assert [store.told(False), store.told(False), store.told(True)] == [None, None, None]
    assert store.answers == [FULL]
    assert "no such bucket" in capfd.readouterr().err


def test_a_store_that_hangs_does_not_hold_up_the_agent() -> None:
    answer = threading.Event()
    reader = Reader(lambda *_: (answer.wait(60), FULL)[1])

    assert reader.of(QUERY, None, False) is None
    answer.set()


def test_a_run_that_ended_is_forgotten() -> None:
    store = Store(FULL, EMPTY)
    store.told(False)
    store.reader.forget("run-1")

    assert store.told(False) == EMPTY
