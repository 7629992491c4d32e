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

from sluice.agent import (
    farewell,
    helping,
    hooks,
    importing,
    logs,
    profiling,
    program,
    replacing,
    server,
    settings,
    submission,
)
from sluice.agent.fence import Fence
from sluice.agent.importing import Patch
from sluice.agent.polling import Poller
from sluice.agent.profiling import NotProfilable, Profile
from sluice.agent.sinks import Dropped
from sluice.agent.snapshot import FINISHED, STOPPING, WAITING, Snapshot
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
    try:
        _run(arguments[0], arguments[1:])
    except SystemExit as leaving:
        farewell.leave(leaving)
        raise
    except BaseException as error:
        farewell.leave(error)
        program.report(error)
        raise


def _run(path: str, arguments: Sequence[str]) -> None:
    profile = profiling.from_environment(os.environ)
    configured = settings.from_environment(os.environ)
    found = submission.modules(os.environ)
    sys.path += found
    os.environ.update(submission.variables(os.environ, found))
    fence = Fence(configured)
    poller = _started(configured, fence, profile)
    # Not when main returns: Python waits for the program's threads, which may have its queries.
    atexit.register(poller.set_phase, FINISHED)
    if profile is not None:
        replacing.prepare(program.folder(path))
    _enter(fence, poller)
    program.run(path, arguments)


def _enter(fence: Fence, poller: Poller) -> None:
    """Wait for the Lease, if it is not to be had at once."""
    fence.enter(on_wait=lambda: poller.set_phase(WAITING))
    poller.begin()


def _started(configured: settings.Settings, fence: Fence, profile: Profile | None) -> Poller:
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
        _start(spark, poller, stopping, configured, profile)
    except Exception as error:  # the program runs, with or without us
        if profile is not None:
            raise NotProfilable(f"the agent could not start: {error!r}") from error
        logs.write(
            "error", "The agent could not start; the program runs without it", error=repr(error)
        )
    return poller


def _start(
    spark: Spark,
    poller: Poller,
    stopping: Stopping,
    configured: settings.Settings,
    profile: Profile | None,
) -> None:
    stopping.install()
    helping.install()
    timekeeper = Timekeeper(lambda: poller.snapshot.records, spark.offsets_by_time, poller.deliver)
    # Exit handlers run in reverse: these before Spark is stopped.
    atexit.register(poller.end)
    atexit.register(timekeeper.end)
    watching = hooks.patches(
        on_session=spark.add_session,
        on_query=lambda query: spark.add_query(query._jsq),
        on_stop=stopping.hold,
    )
    importing.patch_when_imported(_replacing(profile, spark), watching)
    poller.start()
    timekeeper.start()
    verbs = Verbs(poller, spark, stopping, configured.token_file)
    port = server.start(configured.port, verbs.answer)
    logs.write("info", "The agent is watching the program", port=port)


def _replacing(profile: Profile | None, spark: Spark) -> dict[str, Patch]:
    if profile is None:
        return {}
    dropped = Dropped()
    atexit.register(dropped.tell)
    return replacing.patches(profile, dropped, on_start=spark.add_replaced)
