"""The timekeeper against a topic whose records and their timestamps are known to the second."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from sluice.agent.histogram import LONG_BOUNDS, Histogram
from sluice.agent.latency import Committed, Latency, Timing
from sluice.agent.records import Look, Record
from sluice.agent.retention import Kept
from sluice.agent.timing import (
    BEGINS_SECONDS,
    LOOK_SECONDS,
    LOOKS_PER_TURN,
    LOOKUPS_PER_SECOND,
    PAUSE_SECONDS,
    Timekeeper,
)
from tests.agent.building import kafka, trigger

SOURCE = "KafkaV2[Subscribe[orders]]"
MANY = [f"run-{number}" for number in range(1, 21)]


def record_of(run: str) -> Record:
    return Record(label=run, name=run, id=run, run_id=run, started_at=0)


@dataclass(eq=False)
class Topic:
    """Partitions as lists of timestamps, asked as Kafka is asked: the first that is not older."""

    partitions: dict[str, list[float]]
    expired: int = 0
    asked: list[float] = field(default_factory=list)
    begins_asked: int = 0
    begins_fail: bool = False
    fails: bool = False
    is_closed: bool = False

    def at(self, instant: float) -> dict[str, int]:
        self.asked.append(instant)
        if self.fails:
            raise TimeoutError("no broker answers")
        return {
            name: next((at for at, time in enumerate(times) if time >= instant), len(times))
            for name, times in self.partitions.items()
        }

    def ends(self) -> dict[str, int]:
        return self.at(float("inf"))

    def begins(self) -> dict[str, int]:
        self.begins_asked += 1
        if self.begins_fail:
            raise TimeoutError("no broker answers")
        return dict.fromkeys(self.partitions, self.expired)

    def close(self) -> None:
        self.is_closed = True


class Driver:
    """A timekeeper with its clock, queries that each read a topic, and the timings and looks that it gave."""

    def __init__(self, topic: Topic, opened: Callable[[str, str], Topic] | None = None) -> None:
        self.now = 0.0
        self.records = {"run-1": record_of("run-1")}
        self.timings: list[Timing] = []
        self.looks: list[Look] = []
        self.keeper = Timekeeper(
            lambda: self.records.values(),
            opened or (lambda *_: topic),
            self.take,
            now=lambda: self.now,
        )

    @property
    def record(self) -> Record:
        return self.records["run-1"]

    @record.setter
    def record(self, record: Record) -> None:
        self.records["run-1"] = record

    def take(self, found: Timing | Look) -> None:
        if isinstance(found, Look):
            self.looks.append(found)
        else:
            self.timings.append(found)

    def reads(self, *topics: str, run: str = "run-1") -> None:
        """Let a trigger tell that these topics are read; it has nothing to commit."""
        told = [{**kafka(0, 1, 1), "description": f"KafkaV2[Subscribe[{one}]]"} for one in topics]
        record = self.records.get(run) or record_of(run)
        self.records[run] = record.with_progress(trigger(run=run, sources=told, is_batch=False))

    def commits(
        self, batch_id: int, at: float, run: str = "run-1", /, **ranges: tuple[int, int]
    ) -> None:
        """Let a batch wait, and time goes on until it has settled."""
        batch = Committed(
            run_id=run,
            batch_id=batch_id,
            source=SOURCE,
            committed_at=at,
            rows=sum(end - start for start, end in ranges.values()),
            estimate=Histogram(),
            starts={name: start for name, (start, _) in ranges.items()},
            ends={name: end for name, (_, end) in ranges.items()},
        )
        record = self.records.get(run) or record_of(run)
        self.records[run] = replace(record, latency=record.latency.with_committed(batch))
        self.now = at + 1

    def counts(self, run: str) -> None:
        """Let the poller take in the timings of a run: none of its batches waits any longer."""
        self.records[run] = replace(self.records[run], latency=Latency())

    def ages(self) -> Histogram:
        """Take a turn and return what it said of the last batch."""
        self.keeper.turn()
        return self.timings[-1].ages


def true_ages(topic: Topic, at: float, **ranges: tuple[int, int]) -> Histogram:
    ages = Histogram()
    for name, (start, end) in ranges.items():
        for time in topic.partitions[name][start:end]:
            ages = ages.observed(at - time, at - time)
    return ages


def test_rows_are_counted_as_their_timestamps_say() -> None:
    bursts = [0.2, 0.21, 0.22, 3.0, 3.01, 7.9, 7.91, 7.92, 7.93, 9.97]
    topic = Topic({"a": bursts, "b": [5.0, 9.0, 9.1]})
    driver = Driver(topic)
    ranges = {"a": (0, 10), "b": (0, 3)}
    driver.commits(0, 10.0, **ranges)

    ages, truth = driver.ages(), true_ages(topic, 10.0, **ranges)
    assert ages.count == pytest.approx(13)
    # Instants are exact at every bound but those that are nearer to a known one than the spacing.
    for bound in (1.0, 2.0, 3.0, 5.0, 7.5, 10.0):
        until = LONG_BOUNDS.index(bound) + 1
        assert sum(ages.counts[:until]) == pytest.approx(sum(truth.counts[:until]), abs=0.01)


def test_a_backlog_from_before_the_query_began_is_timed() -> None:
    topic = Topic({"a": [float(second) for second in range(0, 90_000, 100)]})
    driver = Driver(topic)
    driver.commits(0, 90_000.0, a=(0, 900))

    ages = driver.ages()
    assert ages.count == pytest.approx(900)
    older_than_an_hour = LONG_BOUNDS.index(3600.0) + 1
    assert sum(ages.counts[older_than_an_hour:]) == pytest.approx(900 - 36, abs=2)
    assert ages.counts[-1] == pytest.approx(36, abs=2), "older than a day"


def test_steady_batches_ask_for_few_instants_each() -> None:
    topic = Topic({"a": [n / 10 for n in range(2000)]})
    driver = Driver(topic)
    for batch in range(1, 150):
        driver.commits(batch, batch + 0.4, a=((batch - 1) * 10, batch * 10))
        ages = driver.ages()
        assert ages.count == pytest.approx(10)
        assert ages.quantile(0.5) == pytest.approx(0.9, abs=0.15)

    assert len(topic.asked) < 150 * 6


def test_many_topics_share_the_lookups_of_a_driver() -> None:
    topics = {run: Topic({"a": [n / 10 for n in range(20_000)]}) for run in MANY}
    driver = Driver(topics["run-1"], lambda run, _: topics[run])
    for run in MANY:
        for batch in range(1, 60):
            driver.commits(batch, batch + 0.4, run, a=((batch - 1) * 10, batch * 10))
    driver.keeper.turn()

    assert len(driver.timings) == 20 * 59
    assert sum(len(topic.asked) for topic in topics.values()) < 59 * 8 * 1.5


def test_queries_of_one_topic_ask_its_brokers_once() -> None:
    shared, own = Topic({"a": [float(n) for n in range(10)]}), Topic({"a": []})
    own.partitions = shared.partitions
    together, alone = Driver(shared), Driver(own)
    for driver, runs in ((together, MANY), (alone, ["run-1"])):
        for run in runs:
            driver.reads("orders", run=run)
            driver.commits(0, 10.0, run, a=(0, 10))
        driver.keeper.turn()

    assert shared.asked == own.asked
    assert {timing.batch.run_id: timing.ages for timing in together.timings} == dict.fromkeys(
        MANY, alone.timings[0].ages
    )
    assert together.looks == [replace(alone.looks[0], run_id=run) for run in MANY]


def test_queries_of_one_topic_ask_for_as_much_as_one_query_in_the_same_time() -> None:
    topic = Topic({"a": [n / 10 for n in range(1000)]})
    driver = Driver(topic)
    for second in range(1, 60):
        for number, run in enumerate(MANY):
            at, rows = second + number / 20, (second * 10 - 10, second * 10)
            driver.commits(second, at, run, a=rows)
        driver.now = second + 2.0
        driver.keeper.turn()

    assert len(topic.asked) < 60 * LOOKUPS_PER_SECOND * 1.2
    assert sum(timing.ages.count for timing in driver.timings) >= 20 * 10 * 58


def test_rows_between_the_commits_of_two_queries_are_timed() -> None:
    driver = Driver(Topic({"a": [n / 10 for n in range(200)]}))
    driver.commits(0, 10.0, "run-1", a=(90, 100))
    driver.commits(0, 10.1, "run-2", a=(91, 101))

    assert driver.ages().count == pytest.approx(10)


def test_a_slow_query_keeps_the_instants_that_it_needs() -> None:
    topic = Topic({"a": [float(n) for n in range(20_000)]})
    driver = Driver(topic)
    for batch, at in enumerate((10_000.0, 10_010.0)):
        topic.asked.clear()
        driver.commits(batch, at, "run-1", a=(9_990 + 10 * batch, 10_000 + 10 * batch))
        driver.commits(batch, at, "run-2", a=(100 + 10 * batch, 110 + 10 * batch))
        driver.keeper.turn()

    assert [timing.ages.count for timing in driver.timings] == pytest.approx([10, 10, 10, 10])
    assert min(topic.asked) > 9_000


def test_instants_that_only_a_query_needed_which_is_gone_are_asked_for_anew() -> None:
    topic = Topic({"a": [float(n) for n in range(20_000)]})
    driver = Driver(topic)
    driver.commits(0, 10_000.0, "run-1", a=(9_990, 10_000))
    driver.commits(0, 10_000.0, "run-2", a=(100, 110))
    driver.keeper.turn()
    del driver.records["run-2"]
    driver.commits(1, 10_010.0, "run-1", a=(10_000, 10_010))
    driver.keeper.turn()
    topic.asked.clear()
    driver.commits(0, 10_020.0, "run-3", a=(100, 110))

    assert driver.ages().count == pytest.approx(10)
    assert min(topic.asked) < 100


def test_queries_of_different_brokers_do_not_share() -> None:
    topics = {"run-1": Topic({"orders-0": [1.0]}), "run-2": Topic({"orders-0": [1.0, 2.0]})}
    driver = Driver(topics["run-1"], lambda run, _: topics[run])
    for run in topics:
        driver.reads("orders", run=run)
    driver.now = 10.0
    driver.keeper.turn()

    assert {look.run_id: look.rows for look in driver.looks} == {"run-1": 1, "run-2": 2}


def test_records_that_their_producer_sent_late_are_as_old_as_their_timestamps() -> None:
    topic = Topic({"a": [9.0], "b": []})
    driver = Driver(topic)
    driver.commits(0, 10.0, a=(0, 1))
    driver.keeper.turn()
    topic.partitions = {"a": [9.0, 11.0], "b": [7.0]}
    driver.commits(1, 12.0, a=(1, 2), b=(0, 1))

    ages = driver.ages()
    assert ages.counts[LONG_BOUNDS.index(5.0)] == pytest.approx(1)


def test_a_topic_rests_for_as_long_as_it_was_asked_much() -> None:
    topic = Topic({"a": [0.0, 3598.0]})
    driver = Driver(topic)
    driver.commits(0, 3599.0, a=(0, 1))
    driver.keeper.turn()
    asked = len(topic.asked)
    driver.commits(1, 3600.0, a=(1, 2))
    driver.keeper.turn()
    assert len(topic.asked) == asked
    driver.now += asked / LOOKUPS_PER_SECOND

    assert driver.ages().count == 1


def test_a_batch_is_timed_once() -> None:
    driver = Driver(Topic({"a": [1.0]}))
    driver.commits(0, 2.0, a=(0, 1))
    driver.keeper.turn()
    driver.keeper.turn()

    assert len(driver.timings) == 1


def test_a_batch_is_left_until_its_instants_have_settled() -> None:
    driver = Driver(Topic({"a": [1.0]}))
    driver.commits(0, 2.0, a=(0, 1))
    driver.now = 2.5
    driver.keeper.turn()

    assert driver.timings == []


def test_brokers_that_do_not_answer_are_asked_again_after_a_pause() -> None:
    topic = Topic({"a": [1.0, 2.0]}, fails=True)
    driver = Driver(topic)
    driver.commits(0, 3.0, a=(0, 1))
    driver.keeper.turn()
    driver.now += PAUSE_SECONDS / 2
    driver.keeper.turn()
    assert (len(topic.asked), driver.timings) == (1, [])

    topic.fails = False
    driver.now += PAUSE_SECONDS
    assert driver.ages().count == 1


def test_a_source_that_fails_leaves_the_others_to_be_timed() -> None:
    dead, alive = Topic({"a": [1.0]}, fails=True), Topic({"a": [1.0]})
    opened = [alive, dead]
    driver = Driver(dead, lambda *_: opened.pop())
    driver.commits(0, 3.0, a=(0, 1))
    (batch,) = driver.record.latency.waiting
    other = replace(batch, source="KafkaV2[Subscribe[payments]]")
    latency = replace(driver.record.latency, waiting=(batch, other))
    driver.record = replace(driver.record, latency=latency)
    driver.keeper.turn()

    assert [timing.batch.source for timing in driver.timings] == [other.source]


def test_a_source_that_cannot_be_opened_is_no_failure_of_the_agent() -> None:
    def missing(*_: str) -> Topic:
        raise LookupError("the query has no such source")

    driver = Driver(Topic({}), missing)
    driver.commits(0, 2.0, a=(0, 1))

    assert driver.ages().count == 0


def test_rows_that_retention_has_removed_are_left_out_and_cost_no_search_each_time() -> None:
    topic = Topic({"a": [0.0] * 50 + [10.0 + n for n in range(200)]})
    expired = topic.at

    def after_retention(instant: float) -> dict[str, int]:
        return {"a": max(50, expired(instant)["a"])}

    topic.at = after_retention  # type: ignore[method-assign]  # the log begins at 50 now
    driver = Driver(topic)
    driver.commits(0, 12.0, a=(40, 45))
    assert driver.ages().count == 0
    first = len(topic.asked)
    driver.commits(1, 20.0, a=(45, 52))
    assert driver.ages().count == pytest.approx(2)
    assert len(topic.asked) - first < 20


def test_a_record_from_the_future_hides_the_rows_behind_it_and_no_others() -> None:
    topic = Topic({"a": [1.0, 2.0, 5000.0, 3.0, 4.0]})
    driver = Driver(topic)
    driver.commits(0, 5.0, a=(0, 5))

    assert driver.ages().count == pytest.approx(2)


def test_each_topic_is_looked_at_every_few_seconds_while_no_trigger_tells_of_it() -> None:
    topic = Topic({"orders-0": [1.0], "orders-1": [1.0, 2.0]})
    driver = Driver(topic)
    driver.reads("orders")
    for driver.now in (10.0, 10.0 + LOOK_SECONDS / 2, 10.0 + LOOK_SECONDS):
        driver.keeper.turn()
        topic.partitions["orders-0"].append(5000.0)

    assert [(look.at, look.rows) for look in driver.looks] == [(10.0, 3), (10.0 + LOOK_SECONDS, 5)]


def test_where_a_topic_begins_is_asked_with_few_of_the_looks() -> None:
    topic = Topic({"orders-0": [1.0, 2.0, 3.0], "orders-1": [1.0]}, expired=1)
    driver = Driver(topic)
    driver.reads("orders")
    begun = Kept({"orders-0": 1, "orders-1": 1}, {"orders-0": 3, "orders-1": 1})
    for driver.now in (10.0, 10.0 + LOOK_SECONDS, 10.0 + BEGINS_SECONDS):
        driver.keeper.turn()

    assert [look.kept for look in driver.looks] == [begun, None, begun]
    assert topic.begins_asked == 2


def test_queries_of_one_topic_are_told_together_where_it_begins() -> None:
    topic = Topic({"orders-0": [1.0]})
    driver = Driver(topic)
    for run in MANY:
        driver.reads("orders", run=run)
    driver.keeper.turn()

    assert [look.kept for look in driver.looks] == [Kept({"orders-0": 0}, {"orders-0": 1})] * 20
    assert topic.begins_asked == 1


def test_a_topic_that_does_not_tell_where_it_begins_is_looked_at_without_and_asked_again() -> None:
    topic = Topic({"orders-0": [1.0]}, begins_fail=True)
    driver = Driver(topic)
    driver.reads("orders")
    for driver.now in (10.0, 10.0 + PAUSE_SECONDS, 10.0 + 2 * PAUSE_SECONDS):
        driver.keeper.turn()
    assert [look.kept for look in driver.looks] == [None] * 3
    assert topic.begins_asked == 1

    topic.begins_fail = False
    driver.now = 10.0 + BEGINS_SECONDS
    driver.keeper.turn()
    assert driver.looks[-1].kept is not None


def test_a_topic_is_left_out_of_a_look_until_a_batch_has_told_where_it_is() -> None:
    driver = Driver(Topic({"orders-0": [1.0], "orders-1": [2.0], "orders-old-0": [1.0] * 50}))
    driver.reads("orders")
    driver.now = 10.0
    driver.keeper.turn()

    assert [look.rows for look in driver.looks] == [2]


def test_many_topics_are_looked_at_in_turns() -> None:
    driver = Driver(Topic({}), lambda *_: Topic({"a": [1.0]}))
    driver.reads(*(f"topic-{number}" for number in range(2 * LOOKS_PER_TURN)))
    driver.now = 10.0
    driver.keeper.turn()
    assert len(driver.looks) == LOOKS_PER_TURN
    driver.now += LOOK_SECONDS
    driver.keeper.turn()

    assert len({look.source for look in driver.looks}) == 2 * LOOKS_PER_TURN


def test_a_topic_that_rests_because_it_was_asked_much_is_looked_at_all_the_same() -> None:
    driver = Driver(Topic({"a": [0.0, 3598.0]}))
    driver.reads("orders")
    driver.commits(0, 3599.0, a=(0, 1))
    driver.keeper.turn()
    driver.now += LOOK_SECONDS
    driver.keeper.turn()

    assert len(driver.looks) == 2


def test_a_look_that_fails_is_taken_again_after_a_pause() -> None:
    topic = Topic({"orders-0": [1.0]}, fails=True)
    driver = Driver(topic)
    driver.reads("orders")
    for driver.now in (10.0, 10.0 + LOOK_SECONDS):
        driver.keeper.turn()
    assert (len(topic.asked), driver.looks) == (1, [])

    topic.fails = False
    driver.now = 10.0 + PAUSE_SECONDS
    driver.keeper.turn()
    assert [look.rows for look in driver.looks] == [1]


def test_a_topic_is_asked_on_when_the_clock_was_set_back() -> None:
    topic = Topic({"orders-0": [1.0, 2.0]})
    driver = Driver(topic)
    driver.reads("orders")
    driver.commits(0, 9000.0, **{"orders-0": (0, 1)})
    driver.keeper.turn()
    driver.commits(1, 5400.0, **{"orders-0": (1, 2)})
    driver.keeper.turn()

    assert [look.at for look in driver.looks] == [9001.0, 5401.0]
    assert all(look.kept for look in driver.looks)
    assert [timing.batch.batch_id for timing in driver.timings] == [0, 1]


def test_a_topic_that_failed_is_asked_again_when_the_clock_was_set_back() -> None:
    topic = Topic({"orders-0": [1.0]}, fails=True)
    driver = Driver(topic)
    driver.reads("orders")
    driver.now = 9000.0
    driver.keeper.turn()
    topic.fails, driver.now = False, 5400.0
    driver.keeper.turn()

    assert [look.rows for look in driver.looks] == [1]


def test_a_query_that_ended_is_not_looked_at_until_its_next_run_has_told_of_its_sources() -> None:
    topic = Topic({"a": [1.0]})
    driver = Driver(topic)
    driver.reads("orders")
    driver.record = driver.record.with_end(None, 2.0)
    driver.keeper.turn()
    driver.record = driver.record.with_run("q", "run-2", 1.0)
    driver.keeper.turn()

    assert (driver.looks, topic.asked) == ([], [])


def test_a_query_that_ends_leaves_the_others_their_client_until_the_last_is_gone() -> None:
    topic = Topic({"a": [1.0]})
    driver = Driver(topic)
    for run in ("run-1", "run-2"):
        driver.commits(0, 2.0, run, a=(0, 1))
    driver.keeper.turn()
    closed = []
    for run in ("run-1", "run-2"):
        driver.counts(run)
        driver.records[run] = driver.records[run].with_end(None, 2.0)
        driver.keeper.turn()
        closed.append(topic.is_closed)

    assert closed == [False, True]


def test_a_query_that_ended_keeps_its_client_until_its_last_batch_is_timed() -> None:
    topic = Topic({"a": [1.0]})
    driver = Driver(topic)
    driver.reads("orders")
    driver.keeper.turn()
    driver.commits(0, 2.0, a=(0, 1))
    driver.record = driver.record.with_end(None, 2.0)
    driver.now = 2.5
    driver.keeper.turn()
    assert not topic.is_closed
    driver.now = 3.0

    assert driver.ages().count == 1


def test_each_query_counts_its_own_batches() -> None:
    driver = Driver(Topic({"a": [1.0, 4.0]}))
    driver.commits(7, 2.0, "run-1", a=(0, 1))
    driver.keeper.turn()
    driver.commits(0, 5.0, "run-2", a=(1, 2))
    driver.keeper.turn()

    timed = [(timing.batch.run_id, timing.batch.batch_id) for timing in driver.timings]
    assert timed == [("run-1", 7), ("run-2", 0)]
