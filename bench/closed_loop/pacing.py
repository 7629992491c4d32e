"""Each minute of a run: what goes on, how long it has taken, and how long the rest is expected to take."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Self

from bench.closed_loop.contenders import PROFILED
from bench.closed_loop.scene import Scene
from bench.progress import Progress

MINUTE = 60.0

STAGING, HISTORY, PROFILING = "setting up", "sending the history", "profiling"
DRAINING, LOADING, CHECKING = "draining the history", "under load", "checking every row"
REMOVING = "removing what was made"


def plan(scene: Scene, contender: str) -> Mapping[str, float]:
    """The parts of a run in their order, and the seconds that they are expected to take."""
    profile = {PROFILING: 420.0} if contender in PROFILED else {}
    return {
        STAGING: 150.0,
        HISTORY: 60.0,
        **profile,
        DRAINING: 270.0,
        LOADING: scene.seconds,
        CHECKING: 120.0,
        REMOVING: 90.0,
    }


class Pace:
    """A run on its way, which says each minute how it goes for as long as the block runs."""

    def __init__(
        self,
        progress: Progress,
        parts: Mapping[str, float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress = progress
        self._parts = parts
        self._clock = clock
        self._part = next(iter(parts))
        self._began = clock()
        self._note = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def begin(self, part: str) -> None:
        """Go on to the next part."""
        self._part, self._began, self._note = part, self._clock(), ""
        self.say("")

    def note(self, told: str) -> None:
        """What there is to say at the next minute."""
        self._note = told

    def say(self, told: str) -> None:
        """Say something now, and how long the rest will take."""
        words = f"{self._part}: {told}" if told else self._part
        self._progress.say(f"{words}; about {self.left() / MINUTE:.0f} min left")

    def left(self) -> float:
        """Seconds that the rest is expected to take."""
        names = list(self._parts)
        later = names[names.index(self._part) + 1 :]
        present = self._parts[self._part] - (self._clock() - self._began)
        return max(0.0, present) + sum(self._parts[name] for name in later)

    def _tell(self) -> None:
        while not self._over.wait(MINUTE):
            self.say(self._note)
