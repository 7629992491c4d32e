"""Keep what thousands of objects have in common in memory once."""

import sys
from collections.abc import Mapping
from typing import Any

_SHORT = 64
"""Longest text that is taken for a name, a reason or the like, and not for a sentence of this object alone."""


def interned(node: Any) -> Any:
    """The same JSON, with equal names of fields and equal short texts in memory once."""
    if isinstance(node, Mapping):
        return {sys.intern(name): interned(part) for name, part in node.items()}
    if isinstance(node, list):
        return [interned(part) for part in node]
    if isinstance(node, str) and len(node) <= _SHORT:
        return sys.intern(node)
    return node
