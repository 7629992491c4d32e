"""The operator's log: one JSON object a line, for machines, or plain lines, for people.

Each line carries what it is about (namespace, job, incarnation), taken from the context it was written in, so that
no call has to repeat it.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Literal

from pythonjsonlogger.json import JsonFormatter

Format = Literal["json", "plain"]

_subject: ContextVar[Mapping[str, object]] = ContextVar("subject", default=MappingProxyType({}))


@contextmanager
def about(**fields: object) -> Iterator[None]:
    """Add these fields to every line that is written inside the block, also by what it calls."""
    token = _subject.set({**_subject.get(), **fields})
    try:
        yield
    finally:
        _subject.reset(token)


def configure(*, level: str, form: Format) -> None:
    """Send the log to standard error from now on."""
    handler = logging.StreamHandler()
    handler.addFilter(_add_subject)
    handler.setFormatter(_json() if form == "json" else _plain())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for chatty in ("aiohttp.access", "kopf.objects"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _add_subject(record: logging.LogRecord) -> bool:
    for name, value in _subject.get().items():
        setattr(record, name, value)
    return True


def _json() -> logging.Formatter:
    return JsonFormatter(
        "{asctime}{levelname}{name}{message}",
        style="{",
        rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
        datefmt="%Y-%m-%dT%H:%M:%S%z",
        json_ensure_ascii=False,
        json_default=str,
    )


def _plain() -> logging.Formatter:
    return logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
