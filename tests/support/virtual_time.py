"""An event loop in which waiting takes no time: when all tasks wait, its clock jumps to what comes next."""

import asyncio
import functools
import selectors
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, ParamSpec

from tests.support.jobs import NOW

P = ParamSpec("P")


class _JumpingSelector(selectors.BaseSelector):
    """Waits for nothing: the time that it was asked to wait is added to the loop's clock."""

    def __init__(self) -> None:
        self._real = selectors.DefaultSelector()
        self.now = 0.0

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = self._real.select(0)
        if not events and timeout is None:
            raise AssertionError("all tasks wait for something that will never happen")
        if not events and timeout is not None:
            self.now += max(timeout, 0)
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on virtual time, which begins at zero."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """The virtual seconds since the loop was made."""
        return self._jumping.now


class VirtualClock:
    """The wall clock that goes with the running loop: NOW when the loop begins."""

    def now(self) -> datetime:
        """The present virtual moment."""
        return NOW + timedelta(seconds=asyncio.get_running_loop().time())


def in_virtual_time(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run an async test in a loop of its own on virtual time."""

    @functools.wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        async def whole() -> None:
            await test(*arguments, **named)

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(whole())

    return run
