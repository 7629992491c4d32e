"""Waiting for what takes a while: a line whenever something changes, and one every quarter of a minute."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from demo.cluster import DemoFailed
from e2e.images.progress import Progress

LOOK_SECONDS = 1.0
SAY_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is seen at a moment: whether it is done, in which words, and whether waiting is in vain."""

    done: bool
    words: str
    hopeless: str = ""
    """What a person must do first; empty while there is hope."""


def wait_for(
    what: str, look: Callable[[], Sight], progress: Progress, *, seconds: float, remedy: str
) -> None:
    """Look until it is done; fail with the last words when the time is over."""
    until = time.monotonic() + seconds
    said, said_at = "", 0.0
    while True:
        sight = look()
        if sight.words != said or time.monotonic() - said_at >= SAY_SECONDS:
            progress.say(f"{what}: {sight.words}")
            said, said_at = sight.words, time.monotonic()
        if sight.done:
            return
        if sight.hopeless:
            raise DemoFailed(f"{what}: {sight.words}", sight.hopeless)
        if time.monotonic() > until:
            raise DemoFailed(f"{what}: after {seconds:.0f} s still {sight.words}", remedy)
        time.sleep(LOOK_SECONDS)
