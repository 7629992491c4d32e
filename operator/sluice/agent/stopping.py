"""End the program in order: queries first, then the program's own last words, then Spark, then the process.

On SIGTERM, or when the operator asks, the queries are stopped in the order of their start. The program's
`awaitTermination` returns as Spark does it, and main goes on to its end by itself; its exit code is the
process's. A main that does not end within the deadline is ended with 143, and one without an active query,
whom nothing would wake, is ended at once. A SIGTERM handler that the program installs replaces ours.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from sluice.agent import forking, logs
from sluice.agent.spark import Spark

EXIT_CODE = 143  # what a shell and Kubernetes report for a process that SIGTERM ended
_LOOK_AGAIN_SECONDS = 0.1
_SECONDS_PER_QUERY = 5


class Stopping:
    """Stops the program once, whoever asks first."""

    def __init__(
        self,
        spark: Spark,
        deadline_seconds: float,
        *,
        on_stop: Callable[[], None],
        on_exit: Callable[[], None],
    ) -> None:
        """`on_stop` is called when it begins, `on_exit` when nothing is left that could write."""
        self._spark = spark
        self._deadline_seconds = deadline_seconds
        self._on_stop = on_stop
        self._on_exit = on_exit
        # A queue and a waiting thread: a signal handler may neither take locks nor start threads, for the
        # main thread can be in the middle of either.
        self._requests: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._queries_stopped = threading.Event()
        self._program_ended = threading.Event()
        self._forced = threading.Event()
        self._thread = threading.Thread(target=self._stop, name="sluice-agent-stop", daemon=True)

    def install(self) -> None:
        """Handle SIGTERM, and stop Spark after the program's own exit handlers, which run before ours."""
        self._thread.start()
        atexit.register(self._at_exit)
        signal.signal(signal.SIGTERM, self._on_signal)
        forking.leave_in_children(self._at_exit, self._on_signal)

    def request(self, reason: str) -> None:
        """Begin to stop, in a thread of its own; asking again changes nothing."""
        self._requests.put(reason)

    def hold(self) -> None:
        """Keep a SparkContext from stopping while its queries are being stopped one after another."""
        if self._stopping.is_set() and threading.current_thread() is not self._thread:
            self._queries_stopped.wait(self._deadline_seconds)

    def _on_signal(self, *_: object) -> None:
        self.request("SIGTERM")

    def _stop(self) -> None:
        reason = self._requests.get()
        until = time.monotonic() + self._deadline_seconds
        self._stopping.set()
        self._on_stop()
        logs.write("info", "Stopping the queries", reason=reason)
        had_queries = self._stop_queries()
        self._queries_stopped.set()
        while had_queries and time.monotonic() < until:
            if self._program_ended.wait(_LOOK_AGAIN_SECONDS):
                return  # the main thread is in our exit handler and ends the process itself
            self._stop_queries()  # a program that starts its query again is still to stop
        self._forced.set()
        self._stop_spark()
        self._on_exit()
        _exit(EXIT_CODE)

    def _at_exit(self) -> None:
        self._program_ended.set()
        if self._forced.is_set():  # main ended because Spark was stopped under it
            time.sleep(self._deadline_seconds)
        self.hold()
        self._stop_queries()
        self._stop_spark()
        self._on_exit()

    def _stop_queries(self) -> bool:
        queries: list[Any] = []
        with contextlib.suppress(Exception):  # no Spark, or no longer: there is nothing to stop
            self._spark.limit_stopping(_SECONDS_PER_QUERY)
            queries = self._spark.active_queries()
        for query in queries:
            try:
                query.stop()
            except Exception as error:  # noqa: BLE001  # the others are still to stop
                logs.write("warning", "A query did not stop", error=repr(error)[:500])
        return bool(queries)

    def _stop_spark(self) -> None:
        context = self._spark.context()
        if context is None:
            return
        try:
            context.stop()
        except Exception as error:  # noqa: BLE001  # the process ends in any case
            logs.write("warning", "The SparkContext did not stop", error=repr(error)[:500])


def _exit(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the program may have closed it
            stream.flush()
    os._exit(code)
