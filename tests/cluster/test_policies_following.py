"""Rules of keeping up with the API server."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pytest

from e2e.cluster.policies.following import Ask, Collection, list_and_watch

Json = dict[str, Any]


def thing(name: str, value: str | None = "new") -> Json:
    return {"metadata": {"namespace": "shop", "name": name}, "value": value}


def collection(*known: Json) -> Collection[str]:
    """A collection of values that has been listed, and whose news were taken notice of."""
    made: Collection[str] = Collection(
        path="/things", read=lambda body: body["value"], changed=threading.Event()
    )
    made.replace(list(known))
    made.changed.clear()
    return made


def answering(listed: list[Json], *events: Json, asked: list[str] | None = None) -> Ask:
    """An API server that lists, and then tells of events until it ends the watch."""
    answers = [
        json.dumps({"metadata": {"resourceVersion": "7"}, "items": listed}),
        "".join(f"{json.dumps(event)}\n" for event in events),
    ]

    @contextmanager
    def ask(path: str, may_pause: bool) -> Iterator[BinaryIO]:
        if asked is not None:
            asked.append(path)
        yield io.BytesIO(answers.pop(0).encode())

    return ask


def test_a_list_is_all_that_there_is() -> None:
    things = collection(thing("old"))

    list_and_watch(answering([thing("one"), thing("two")]), things)

    assert things.items() == {"shop/one": "new", "shop/two": "new"}
    assert things.changed.is_set()


def test_a_watch_goes_on_where_the_list_ended() -> None:
    asked: list[str] = []

    list_and_watch(answering([], asked=asked), collection())

    assert asked[1].startswith("/things?watch=1&resourceVersion=7&")


def test_events_change_what_there_is() -> None:
    things = collection()
    events = (
        {"type": "ADDED", "object": thing("two")},
        {"type": "MODIFIED", "object": thing("one", "newer")},
        {"type": "DELETED", "object": thing("three")},
    )

    list_and_watch(answering([thing("one"), thing("three")], *events), things)

    assert things.items() == {"shop/one": "newer", "shop/two": "new"}


def test_what_changes_nothing_that_matters_is_no_news() -> None:
    things = collection(thing("one"))

    things.apply("MODIFIED", thing("one"))
    things.apply("ADDED", thing("unread", None))
    things.apply("DELETED", thing("never-heard-of"))

    assert not things.changed.is_set()


def test_a_thing_that_no_longer_counts_is_gone() -> None:
    things = collection(thing("one"))

    things.apply("MODIFIED", thing("one", None))

    assert things.items() == {}
    assert things.changed.is_set()


def test_what_was_known_stays_until_there_is_a_new_list() -> None:
    things = collection(thing("one"))
    expired = {"type": "ERROR", "object": {"message": "too old resource version"}}

    with pytest.raises(OSError, match="too old resource version"):
        list_and_watch(answering([thing("one")], expired), things)

    assert things.items() == {"shop/one": "new"}
