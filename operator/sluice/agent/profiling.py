"""What a profile asks of the agent, and how a program ends that cannot have one.

A profile runs a copy of a job to measure what its query can do, on the rows of former days or on those that come just
now. Nothing of it may reach a real sink, so what the agent is told must be whole, and what it cannot replace ends the
program: `replacing` puts itself between the program and pyspark, `sinks` and `sources` say what becomes of writers and
readers, `statements` of SQL.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from sluice.agent import farewell, logs

VARIABLE = "SLUICE_PROFILE"
EXIT_CODE = 96

_STARTS = ("earliest", "latest")


class NotProfilable(SystemExit):
    """Ends a program of which the agent cannot say that it writes nothing; `told` says why."""

    def __init__(self, told: str) -> None:
        super().__init__(EXIT_CODE)
        self.told = told


class NotReplayable(NotProfilable):
    """Ends a program with a source of which a copy cannot read the same rows."""


@dataclass(frozen=True)
class Profile:
    """Where the copy keeps its checkpoints, and how it reads Kafka: from where on, as which groups, how many rows a
    batch at most; None leaves that to the program.
    """

    checkpoint: str
    starting_offsets: str
    group_prefix: str
    most_rows: int | None


def from_environment(environment: Mapping[str, str]) -> Profile | None:
    """Read SLUICE_PROFILE; None where it is not set. Raises NotProfilable for what is not understood."""
    text = environment.get(VARIABLE)
    if text is None:
        return None
    try:
        document = json.loads(text)
    except ValueError as error:
        raise NotProfilable(f"{VARIABLE}={text!r} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise NotProfilable(f"{VARIABLE} must be an object of JSON, but is {text!r}")
    _one_of(document, "sinks", ("drop",))
    return Profile(
        checkpoint=_text(document, "checkpoint"),
        starting_offsets=_one_of(document, "startingOffsets", _STARTS),
        group_prefix=_text(document, "groupPrefix"),
        most_rows=_rows(document),
    )


def refuse(refusal: NotProfilable) -> NoReturn:
    """End the program: by an exception in its main thread, and at once from any other, where one would be lost."""
    kind = type(refusal).__name__
    logs.write("error", "The program cannot be profiled", reason=kind, told=refusal.told)
    farewell.leave(refusal)  # now: a program that catches everything may end in another way
    if threading.current_thread() is threading.main_thread():
        raise refusal
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(EXIT_CODE)


def _one_of(document: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = document.get(name)
    if value not in known:
        wanted = " or ".join(map(repr, known))
        raise NotProfilable(f"{name} of {VARIABLE} must be {wanted}, but is {value!r}")
    return str(value)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not value.strip("/ "):
        raise NotProfilable(f"{name} of {VARIABLE} must be a text, but is {value!r}")
    return value


def _rows(document: Mapping[str, Any]) -> int | None:
    value = document.get("mostRows")
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_number and value > 0):
        raise NotProfilable(
            f"mostRows of {VARIABLE} must be a whole number from 1 or null, but is {value!r}"
        )
    return value
