"""What the checkpoint of a query holds, read when a run of the query has begun; never each second.

Spark restores the settings in the newest offset file and ignores what the program says, so they are what is in
force. A place without an offset file is read once more when a batch was committed. A store may take its time
to answer, or not answer at all, so each reading has a thread of its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from sluice.agent import logs
from sluice.agent.reading import Query
from sluice.agent.records import Checkpoint

_LONGEST_VALUE = 200
_MOST_SETTINGS = 40


class Reader:
    """Reads the checkpoint of each run, and remembers it while the run is known."""

    def __init__(self, read: Callable[[Any, Any], Checkpoint] | None = None) -> None:
        self._read = read or read_checkpoint
        self._known: dict[str, Checkpoint] = {}
        self._asked: set[tuple[str, bool]] = set()

    def of(self, query: Query, jvm: Any, has_batch: bool) -> Checkpoint | None:
        """Return what is known of a run's checkpoint; begin to read what is not."""
        known = self._known.get(query.run_id)
        stage = query.run_id, has_batch
        if (known is None or not known.settings) and stage not in self._asked:
            self._asked.add(stage)
            threading.Thread(
                target=self._learn, args=(query, jvm), name="sluice-agent-checkpoint", daemon=True
            ).start()
        return known

    def forget(self, run_id: str) -> None:
        """Let go of a run that ended."""
        self._known.pop(run_id, None)
        self._asked -= {(run_id, False), (run_id, True)}

    def _learn(self, query: Query, jvm: Any) -> None:
        try:
            self._known[query.run_id] = self._read(jvm, query.java)
        except Exception as error:  # noqa: BLE001  # py4j raises errors of many kinds, and so do stores
            text = repr(error)[:500]
            logs.write("warning", "The checkpoint of a query could not be read", error=text)


def read_checkpoint(jvm: Any, query: Any) -> Checkpoint:
    """Read the logs by Spark's own file system, which has the store's connector and its credentials."""
    running = query.streamingQuery()
    files = _Files(jvm, running)
    committed, planned = _latest(running.commitLog()), _latest(running.offsetLog())
    version, metadata = ("", "{}") if planned is None else files.head(f"offsets/{planned}")
    return Checkpoint(
        location=files.root,
        last_batch=committed,
        committed_at=None if committed is None else files.written_at(f"commits/{committed}"),
        format_version=version or None,
        settings=_settings(json.loads(metadata).get("conf") or {}),
    )


def _latest(log: Any) -> int | None:
    newest = log.getLatestBatchId()
    return None if newest.isEmpty() else int(newest.get())


def _settings(conf: dict[str, str]) -> tuple[tuple[str, str], ...]:
    known = sorted((name, str(value)) for name, value in conf.items())
    return tuple((name, value) for name, value in known if len(value) <= _LONGEST_VALUE)[
        :_MOST_SETTINGS
    ]


class _Files:
    """The files of one checkpoint."""

    def __init__(self, jvm: Any, running: Any) -> None:
        self.root = str(running.resolvedCheckpointRoot())
        self._io = jvm.java.io
        self._path = jvm.org.apache.hadoop.fs.Path
        conf = running.sparkSessionForStream().sessionState().newHadoopConf()
        self._system = self._path(self.root).getFileSystem(conf)

    def head(self, name: str) -> tuple[str, str]:
        """Return the first two lines of a log file: the version of its format, and its metadata."""
        stream = self._system.open(self._path(f"{self.root}/{name}"))
        reader = self._io.BufferedReader(self._io.InputStreamReader(stream, "UTF-8"))
        try:
            return reader.readLine() or "", reader.readLine() or "{}"
        finally:
            reader.close()

    def written_at(self, name: str) -> float:
        """Return when a log file was written."""
        status = self._system.getFileStatus(self._path(f"{self.root}/{name}"))
        return int(status.getModificationTime()) / 1000
