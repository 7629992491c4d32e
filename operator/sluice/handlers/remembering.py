"""Keep kopf from remembering objects between events: nothing here asks what changed since the last one.

By default kopf copies each object twice for each event to compare it with what it noted in an annotation. With
event handlers alone nobody reads the result, and it was a tenth of the operator's processor time.
"""

from typing import Any

import kopf


class NoDifferences(kopf.DiffBaseStorage):
    """Every object is as it was."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        """What is compared: nothing."""
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> kopf.BodyEssence | None:
        """What was noted: nothing."""
        return None

    def store(self, **_: Any) -> None:
        """Note nothing."""


class NoProgress(kopf.ProgressStorage):
    """No handler is ever half done."""

    def fetch(self, **_: Any) -> None:
        """What was noted: nothing."""

    def store(self, **_: Any) -> None:
        """Note nothing."""

    def purge(self, **_: Any) -> None:
        """Nothing is there to be removed."""

    def touch(self, **_: Any) -> None:
        """Leave the object alone."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """Nothing of ours is in it."""
        return essence
