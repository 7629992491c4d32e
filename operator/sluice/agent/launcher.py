"""Put the agent together around the user's program, and run it.

The order matters: SIGTERM and the hooks are in place before the program's first line, and that is not read before
the Lease of the checkpoint is held.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Sequence

from sluice.agent import farewell, helping, hooks, logs, program, server, settings
from sluice.agent.fence import Fence
from sluice.agent.polling import Poller
from sluice.agent.snapshot import FINISHED, STARTING, STOPPING, WAITING, Snapshot
from sluice.agent.spark import Spark
from sluice.agent.stopping import Stopping
from sluice.agent.timing import Timekeeper
from sluice.agent.verbs import Verbs

_USAGE = "usage: python3 agent.pyz [--] MAIN_FILE [ARGS...]\n"


def main(arguments: Sequence[str]) -> None:
    """Run the program named by the arguments; its way to end becomes the process's."""
    arguments = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not arguments:
        sys.stderr.write(_USAGE)
        raise SystemExit(2)
    configured = settings.from_environment(os.environ)
    fence = Fence(configured)
    poller = _started(configured, fence)
    try:
        _enter(fence, poller)
        program.run(arguments[0], arguments[1:])
    except SystemExit as leaving:
        farewell.leave(leaving)
        raise
    except BaseException as error:
        farewell.leave(error)
        program.report(error)
        raise
    finally:
        poller.set_phase(FINISHED)


def _enter(fence: Fence, poller: Poller) -> None:
    """Wait for the Lease, if it is not to be had at once."""
    fence.enter(on_wait=lambda: poller.set_phase(WAITING))
    poller.set_phase(STARTING)


def _started(configured: settings.Settings, fence: Fence) -> Poller:
    now = time.time()
    spark = Spark()
    poller = Poller(spark, Snapshot(settings=configured, started_at=now, taken_at=now))
    stopping = Stopping(
        spark,
        configured.stop_deadline_seconds,
        on_stop=lambda: poller.set_phase(STOPPING),
        on_exit=fence.leave,
    )
    try:
        _start(spark, poller, stopping, configured)
    except Exception as error:  # noqa: BLE001  # the program runs, with or without us
        logs.write(
            "error", "The agent could not start; the program runs without it", error=repr(error)
        )
    return poller


def _start(spark: Spark, poller: Poller, stopping: Stopping, configured: settings.Settings) -> None:
    stopping.install()
    helping.install()
    timekeeper = Timekeeper(lambda: poller.snapshot.records, spark.offsets_by_time, poller.deliver)
    # Exit handlers run in reverse: these before Spark is stopped.
    atexit.register(poller.end)
    atexit.register(timekeeper.end)
    hooks.install(
        on_session=spark.add_session,
        on_query=lambda query: spark.add_query(query._jsq),
        on_stop=stopping.hold,
    )
    poller.start()
    timekeeper.start()
    verbs = Verbs(poller, spark, stopping, configured.token_file)
    port = server.start(configured.port, verbs.answer)
    logs.write("info", "The agent is watching the program", port=port)
