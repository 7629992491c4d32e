"""Whether a job spends its batches on waiting for rows of quiet partitions, which its program can spare it."""

from statistics import median

from sluice.core.observations import AgentReport, QueryReport

WORTH_TELLING = 1 / 3
"""The share of a batch from which such waiting is told."""

LEAST = 1.0
"""Seconds of it that are told at least."""

BATCHES = 5
"""The last ones, whose median is judged: one is like no other."""


def told(report: AgentReport, slots: int) -> str:
    """What the first such query waits for, and the remedy, if an executor runs so many tasks; empty if none does."""
    together = slots * max(1, report.registered or 0)
    for query in report.running:
        batches = query.batches[-BATCHES:]
        seconds = median([batch.seconds for batch in batches] or [0.0])
        waited = _waited(query, together, median([batch.read for batch in batches] or [0.0]))
        if waited >= max(LEAST, WORTH_TELLING * seconds):
            return (
                f" Of the {seconds:.1f} s of a batch of query {query.name!r}, tasks wait for about "
                f"{min(waited, seconds):.1f} s for the next row of a quiet partition: give its Kafka source "
                '.option("kafka.fetch.max.wait.ms", "10").'
            )
    return ""


def _waited(query: QueryReport, slots: int, rows: float) -> float:
    """Where a limit has left rows, tasks find them."""
    if query.fetching is None or query.arrival_rate is None or query.left_rows:
        return 0.0
    return query.fetching.waited(slots, query.arrival_rate, rows)
