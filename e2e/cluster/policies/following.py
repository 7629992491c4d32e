"""Keeping up with the API server: what there is of some kinds of objects, and a sign at each change.

Each kind has a thread that lists and then watches. After an error, or when the API server ends a watch,
it lists again: what is known meanwhile is old, and never empty.
"""

import http.client
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Generic, TypeVar, cast

T = TypeVar("T")
Ask = Callable[[str, bool], AbstractContextManager[BinaryIO]]
"""Give the answer for a path; the second says whether it may pause for any time, as a watch does."""

PAUSE_SECONDS = 1.0
ANSWER_SECONDS = 10.0
# A watch says nothing for as long as nothing happens, so the kernel must notice a dead connection.
KEEPALIVE = {socket.TCP_KEEPIDLE: 5, socket.TCP_KEEPINTVL: 2, socket.TCP_KEEPCNT: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The API server, and as whom to ask it."""

    address: str
    port: int
    authority: str
    certificate: str
    key: str

    @contextmanager
    def ask(self, path: str, may_pause: bool) -> Iterator[BinaryIO]:
        """Give the answer for a path, to be read as it comes: for ever, if it may pause."""
        context = ssl.create_default_context(cafile=self.authority)
        context.load_cert_chain(self.certificate, self.key)
        connection = http.client.HTTPSConnection(
            self.address, self.port, timeout=ANSWER_SECONDS, context=context
        )
        with closing(connection):
            connection.connect()
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in KEEPALIVE.items():
                connection.sock.setsockopt(socket.IPPROTO_TCP, option, value)
            connection.request("GET", path)
            answer = connection.getresponse()
            if answer.status != http.HTTPStatus.OK:
                raise OSError(f"{answer.status} {answer.read().decode(errors='replace')}")
            if may_pause:
                connection.sock.settimeout(None)
            yield cast("BinaryIO", answer)


@dataclass(slots=True, kw_only=True)
class Collection(Generic[T]):
    """All objects of a kind, read into what is needed of them; what is read as None is left out."""

    path: str
    read: Callable[[Mapping[str, Any]], T | None]
    changed: threading.Event
    is_listed: bool = False
    _items: dict[str, T] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def items(self) -> dict[str, T]:
        """Return what there is now, by NAMESPACE/NAME, or by name."""
        with self._lock:
            return dict(self._items)

    def replace(self, objects: list[Mapping[str, Any]]) -> None:
        """Take a list for all that there is."""
        found = {_name(each): self.read(each) for each in objects}
        with self._lock:
            self._items = {name: item for name, item in found.items() if item is not None}
            self.is_listed = True
        self.changed.set()

    def apply(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take in one event of a watch."""
        name, item = _name(body), None if kind == "DELETED" else self.read(body)
        with self._lock:
            if self._items.get(name) == item:
                return
            if item is None:
                self._items.pop(name)
            else:
                self._items[name] = item
        self.changed.set()


def _name(body: Mapping[str, Any]) -> str:
    metadata = body["metadata"]
    return "/".join(filter(None, [metadata.get("namespace"), metadata["name"]]))


def follow(ask: Ask, collection: Collection[Any]) -> None:
    """Keep a collection up to date for ever, whatever becomes of the API server."""
    while True:
        try:
            list_and_watch(ask, collection)
        except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
            print(f"{collection.path}: {error!r}; asking again", file=sys.stderr, flush=True)
        # After a watch that ended well, too: nobody should be asked to list without a break.
        time.sleep(PAUSE_SECONDS)


def list_and_watch(ask: Ask, collection: Collection[Any]) -> None:
    """Take in all that there is, and what changes until the API server ends the watch.

    Raises:
        OSError: the API server does not answer, refuses, or has forgotten what changed since the list.
    """
    with ask(f"{collection.path}?resourceVersion=0", False) as answer:
        listed = json.load(answer)
    collection.replace(listed["items"])
    since = listed["metadata"]["resourceVersion"]
    query = f"watch=1&resourceVersion={since}&timeoutSeconds=600"
    with ask(f"{collection.path}?{query}", True) as answer:
        for line in answer:
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise OSError(event["object"].get("message"))
            collection.apply(event["type"], event["object"])
