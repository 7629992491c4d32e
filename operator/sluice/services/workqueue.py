"""A queue of things to look at again: each at most once, by one worker at a time, perhaps later.

This is what makes the operator level-triggered. An event only says *look*; whatever happens while a key is
being worked on makes it looked at once more afterwards. (kopf's daemons would do the same with one task and
one finalizer for each object; a finalizer keeps objects from going while no operator runs.)
"""

import asyncio
import heapq
import itertools
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Generic, TypeVar

from sluice import logs
from sluice.errors import Conflict, SluiceError

K = TypeVar("K", bound=Hashable)

log = logging.getLogger(__name__)

FIRST_RETRY = 0.5
LONGEST_RETRY = 60.0


class WorkQueue(Generic[K]):
    """Keys waiting for `work`, which returns the seconds after which to look again, or None."""

    def __init__(
        self,
        work: Callable[[K], Awaitable[float | None]],
        *,
        fields: Callable[[K], Mapping[str, str]] = lambda key: {"key": str(key)},
        declared: Callable[[K], object | None] = lambda _: None,
    ) -> None:
        """`fields` name a key in the log.

        `declared` is what people ask of it: the same object until they ask for something else, None if it is gone.
        """
        self._work = work
        self._fields = fields
        self._declared = declared
        self._waiting: asyncio.Queue[K] = asyncio.Queue()
        self._queued: set[K] = set()
        self._working: set[K] = set()
        self._again: set[K] = set()
        self._looked_at: dict[K, object] = {}
        self._failures: dict[K, int] = {}
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._order = itertools.count()
        self._sooner = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queued) + len(self._working)

    def add(self, key: K) -> None:
        """Look at the key as soon as a worker is free."""
        if key in self._working:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._waiting.put_nowait(key)

    def add_if_changed(self, key: K) -> None:
        """Look at the key as soon as a worker is free, unless it has been looked at with what is declared now.

        For events, which bring back what a look has itself written: they must not cut the pause short that it takes.
        """
        declared = self._declared(key)
        if declared is None or declared is not self._looked_at.get(key):
            self.add(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Look at the key in so many seconds, or earlier if it was to be looked at earlier."""
        due = asyncio.get_running_loop().time() + seconds
        if self._due.get(key, float("inf")) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._later, (due, next(self._order), key))
        self._sooner.set()

    async def run(self, workers: int) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._release())
            for _ in range(workers):
                group.create_task(self._worker())

    async def _release(self) -> None:
        """Move keys whose time has come to those that wait."""
        loop = asyncio.get_running_loop()
        while True:
            self._sooner.clear()
            while self._later and self._later[0][0] <= loop.time():
                due, _, key = heapq.heappop(self._later)
                if self._due.get(key) == due:
                    del self._due[key]
                    self.add(key)
            pause = self._later[0][0] - loop.time() if self._later else None
            # Not `wait_for`: before Python 3.12 it forgets a cancellation that comes together with the event.
            try:
                async with asyncio.timeout(pause):
                    await self._sooner.wait()
            except TimeoutError:
                continue

    async def _worker(self) -> None:
        while True:
            key = await self._waiting.get()
            self._queued.discard(key)
            self._working.add(key)
            self._note(key)
            try:
                await self._attempt(key)
            finally:
                self._working.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)

    def _note(self, key: K) -> None:
        declared = self._declared(key)
        if declared is None:
            self._looked_at.pop(key, None)
        else:
            self._looked_at[key] = declared

    async def _attempt(self, key: K) -> None:
        with logs.about(**self._fields(key)):
            await self._try(key)

    async def _try(self, key: K) -> None:
        try:
            later = await self._work(key)
        except Conflict as error:
            self._retry(key, f"conflict: {error}", first=FIRST_RETRY / 10, level=logging.DEBUG)
        except SluiceError as error:
            self._retry(key, f"{type(error).__name__}: {error}")
        except Exception:
            # A bug in the handling of one object must not end the work on all others.
            log.exception("%s: unexpected", key)
            self._retry(key, "unexpected error")
        else:
            self._failures.pop(key, None)
            if later is not None:
                self.add_after(key, later)

    def _retry(
        self, key: K, why: str, *, first: float = FIRST_RETRY, level: int = logging.WARNING
    ) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = min(first * 2 ** min(failures - 1, 30), LONGEST_RETRY)
        log.log(level, "%s: %s; again in %.2f s", key, why, pause)
        self.add_after(key, pause)
