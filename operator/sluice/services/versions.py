"""Which version of an object was seen last, and which objects have gone: lists, watches and answers come in any order.

A list that was read before an object went may be told of after its watch has: what it says of it would be believed for
ever, because nothing is told of that object again. A driver that is there no more would be waited for.
"""

from collections.abc import Mapping
from typing import Any

REMEMBERED = 10_000
"""Objects that are remembered to have gone, the newest: a list is told of within seconds."""


class Versions:
    """Of objects by their uid, which no other one ever has."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}
        self._gone: dict[str, None] = {}

    def see(self, metadata: Mapping[str, Any]) -> bool:
        """Take in what is told of an object; False if something newer was told, or that it has gone."""
        uid, version = metadata["uid"], int(metadata.get("resourceVersion", 0))
        if uid in self._gone or version < self._newest.get(uid, 0):
            return False
        self._newest[uid] = version
        return True

    def lose(self, metadata: Mapping[str, Any]) -> None:
        """An object has gone."""
        self._newest.pop(metadata["uid"], None)
        self._gone[metadata["uid"]] = None
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]
