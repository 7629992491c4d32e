"""Let the program import `sluice_job`, which is in the agent's file, without a change of its `sys.path`.

The finder is the last one to be asked: a module of that name that the program brings is taken before.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Sequence

_NAME = "sluice_job"


def install() -> None:
    """Find the module from now on."""
    sys.meta_path.append(_Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        _path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _NAME:
            return None
        folder = os.path.dirname(__file__)
        return importlib.machinery.PathFinder.find_spec(fullname, [folder], target)
