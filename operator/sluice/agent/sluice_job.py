"""For programs that run under Sluice: `import sluice_job`. Write each batch once, although Spark may run it twice.

A driver that dies between writing a batch and committing it leaves the batch to its successor, which runs it again
with the same batch id and the same rows. These functions, within foreachBatch, make the second time harmless:

    rows.writeStream.foreachBatch(sluice_job.to_directory("s3a://lake/views")).start()
    rows.writeStream.foreachBatch(sluice_job.once(write, ledger="s3a://lake/views-ledger")).start()

Another checkpoint counts its batches from 0 again, and so does each query: what tells batches apart is the query's id,
which Spark keeps in the checkpoint, together with the batch's.

A program that also runs elsewhere may keep a copy of this file beside it; that one is then taken.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Write = Callable[[Any, int], Any]

_QUERY = "sql.streaming.queryId"


@dataclass(frozen=True)
class Identity:
    """Which driver of which job this is; without Sluice the uid is empty and the incarnation 0."""

    uid: str
    namespace: str
    name: str
    incarnation: int

    def batch(self, batch_id: int) -> str:
        """A key of one try of one batch, for logs and audits: UID/INCARNATION/BATCH."""
        return f"{self.uid}/{self.incarnation}/{batch_id}"


def identity() -> Identity:
    """Read who we are from the environment."""
    incarnation = os.environ.get("SLUICE_INCARNATION", "")
    return Identity(
        uid=os.environ.get("SLUICE_JOB_UID", ""),
        namespace=os.environ.get("SLUICE_JOB_NAMESPACE", ""),
        name=os.environ.get("SLUICE_JOB_NAME", ""),
        incarnation=int(incarnation) if incarnation.isdecimal() else 0,
    )


def to_directory(path: str, format: str = "parquet", **options: str) -> Write:
    """Write each batch to PATH/query=ID/batch=N, which a second run of the batch replaces as a whole.

    Readers that want whole batches only look for _SUCCESS in it. The rows of a batch must not depend on chance or on
    the time of the run.
    """

    def write(rows: Any, batch_id: int) -> None:
        target = f"{path.rstrip('/')}/query={_query()}/batch={batch_id:012d}"
        rows.write.mode("overwrite").format(format).options(**options).save(target)

    return write


def once(write: Write, ledger: str) -> Write:
    """Call `write` for batches only that are not in the ledger, a directory that Spark can write.

    A batch is entered when `write` has returned. So a driver that dies in between repeats that one batch: for
    a target that can, let `write` store the ids in the same transaction as the rows instead.
    """

    def write_once(rows: Any, batch_id: int) -> None:
        java = rows.sparkSession._jvm
        entry = java.org.apache.hadoop.fs.Path(f"{ledger.rstrip('/')}/{_query()}/{batch_id:012d}")
        files = entry.getFileSystem(rows.sparkSession._jsparkSession.sessionState().newHadoopConf())
        if files.exists(entry):
            return
        write(rows, batch_id)
        files.create(entry, True).close()

    return write_once


def transaction(batch_id: int, part: str = "") -> dict[str, str]:
    """Options of Delta Lake's writer that make it skip a batch that a table has: txnAppId and txnVersion.

    Of several writes to one table within a batch each needs a `part` of its own, or all but the first are skipped.
    """
    query = _query()
    return {"txnAppId": f"{query}/{part}" if part else query, "txnVersion": str(batch_id)}


def _query() -> str:
    """The id of the query whose batch this thread writes, which outlives drivers and jobs, but not the checkpoint."""
    pyspark = sys.modules.get("pyspark")  # who writes batches has it
    context = pyspark.SparkContext._active_spark_context if pyspark is not None else None
    found = context.getLocalProperty(_QUERY) if context is not None else None
    if not found:
        raise RuntimeError(
            "no query's batch is written here: call it within foreachBatch, in the thread in which Spark calls that, "
            "and leave PYSPARK_PIN_THREAD as it is"
        )
    return str(found)
