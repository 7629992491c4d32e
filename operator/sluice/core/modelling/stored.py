"""Versioned plain data for what is learned, and the refusal of data that cannot be read.

A reader that does not know a version does not guess: the model starts afresh and says so.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sluice.errors import CorruptState

Data = dict[str, Any]


def sealed(kind: str, version: int, **fields: object) -> Data:
    """Plain data that tells what it is."""
    return {"kind": kind, "version": version, **fields}


@contextmanager
def opened(data: object, kind: str, version: int) -> Iterator[Mapping[str, Any]]:
    """The fields of sealed data; whatever is wrong with them is raised as CorruptState."""
    if not isinstance(data, Mapping) or data.get("kind") != kind:
        found = data.get("kind") if isinstance(data, Mapping) else data
        raise CorruptState(
            f"found {found!r:.80} where a stored {kind} should be: it is learned anew"
        )
    if data.get("version") != version:
        raise CorruptState(
            f"the stored {kind} has version {data.get('version')!r:.20} and this release reads version {version}: "
            "it is learned anew"
        )
    try:
        yield data
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise CorruptState(
            f"the stored {kind} cannot be read ({error!r:.200}): it is learned anew"
        ) from error
