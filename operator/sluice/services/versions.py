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
        self._gone: dict[str, int | None] = {}
        """At which version they went; None where nothing tells."""

    def see(self, metadata: Mapping[str, Any]) -> bool:
        """Take in what is told of an object; False if something newer was told, or that it has gone.

        To a watch that selects by labels, one goes that loses its label, and is there again when it has it back.
        """
        uid, version = metadata["uid"], int(metadata.get("resourceVersion", 0))
        if self._has_gone(uid, version) or version < self._newest.get(uid, 0):
            return False
        self._gone.pop(uid, None)
        self._newest[uid] = version
        return True

    def lose(self, metadata: Mapping[str, Any]) -> None:
        """An object has gone."""
        self._newest.pop(metadata["uid"], None)
        version = metadata.get("resourceVersion")
        self._gone[metadata["uid"]] = None if version is None else int(version)
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _has_gone(self, uid: str, version: int) -> bool:
        """Whether an object of that version has gone by now."""
        if uid not in self._gone:
            return False
        gone_at = self._gone[uid]
        return gone_at is None or version <= gone_at
