"""`python3 -m jobs.load.generate`: replay a trace of numbered records into a Kafka topic.

Sequence numbers have no holes and no repetitions: the producer is idempotent, record n goes to partition n modulo
their number, and a later run goes on where the topic ends. Event times are the moments at which the trace wants the
records, not those at which they went out, so a late generator shows as latency. The last line is the exact account.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from confluent_kafka import Producer

from jobs.load import events, topics, traces

PROGRESS_SECONDS = 5.0

HISTORY_RATE = 5000.0
"""Records per second that fill a topic: a busy machine keeps up with it."""


@dataclass(kw_only=True, slots=True)
class Account:
    """What went out and what the brokers confirmed."""

    topic: str
    schema: str
    seed: int
    first_sequence: int
    started: str
    sent: int = 0
    delivered: int = 0
    failed: int = 0
    seconds: float = 0.0
    errors: list[str] = field(default_factory=list)

    def on_delivery(self, error: object, _message: object) -> None:
        if error is None:
            self.delivered += 1
        else:
            self.failed += 1
            self.errors = [*self.errors, str(error)][:5]


class Generator:
    """Sends the records of a schedule when they are due."""

    def __init__(self, producer: Producer, account: Account, partitions: int) -> None:
        self._producer = producer
        self._account = account
        self._partitions = partitions
        self._stopping = False

    def stop(self) -> None:
        self._stopping = True

    def run(self, schedule: Iterator[traces.Due], say: Callable[[str], None]) -> None:
        """Send everything that is due; falling behind, send as fast as possible but leave nothing out."""
        start = time.time()
        said, said_sent = start, 0
        for due in schedule:
            if self._stopping:
                say("stopping: flushing what is under way")
                break
            self._wait_until(start + due.elapsed)
            for index in range(due.count):
                self._send(due.first + index, start + due.moment(index))
            self._producer.poll(0)
            if (now := time.time()) - said >= PROGRESS_SECONDS:
                rate = (self._account.sent - said_sent) / (now - said)
                said, said_sent = now, self._account.sent
                say(self._progress(now - start, due.elapsed, rate))
        self._flush(say)
        self._account.seconds = round(time.time() - start, 3)

    def _wait_until(self, moment: float) -> None:
        while not self._stopping and (left := moment - time.time()) > 0:
            # Short sleeps, so that SIGTERM does not wait for a tick of a slow trace.
            time.sleep(min(left, 0.1))

    def _send(self, index: int, moment: float) -> None:
        account = self._account
        sequence = account.first_sequence + index
        event = events.make_event(account.schema, account.seed, sequence, int(moment * 1000))
        while True:
            try:
                self._producer.produce(
                    account.topic,
                    key=event.key,
                    value=json.dumps(event.fields, separators=(",", ":")),
                    partition=sequence % self._partitions,
                    on_delivery=account.on_delivery,
                )
            except BufferError:
                self._producer.poll(0.1)
            else:
                account.sent += 1
                return

    def _flush(self, say: Callable[[str], None]) -> None:
        while left := self._producer.flush(PROGRESS_SECONDS):
            say(f"waiting for the brokers to confirm {left} records")

    def _progress(self, seconds: float, due: float, rate: float) -> str:
        account = self._account
        behind = seconds - due - traces.TICK_SECONDS
        text = f"[{seconds:7.1f} s] sent {account.sent}, confirmed {account.delivered}, {rate:.0f} records/s"
        return text + (f", {behind:.1f} s behind the trace" if behind > 1 else "")


def main() -> int:
    options = _options()
    partitions = topics.ensure_topic(options.bootstrap_servers, options.topic, options.partitions)
    reader = topics.TopicReader(options.bootstrap_servers, options.topic)
    account = Account(
        topic=options.topic,
        schema=options.schema,
        seed=options.seed,
        first_sequence=sum(reader.end_offsets().values()),
        started=datetime.fromtimestamp(time.time(), tz=UTC).isoformat(timespec="milliseconds"),
    )
    reader.close()
    generator = Generator(_producer(options.bootstrap_servers), account, partitions)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: generator.stop())
    trace, duration, records = options.trace, options.duration, options.records
    if lacking := max(0, options.history - account.first_sequence):
        trace, seconds = traces.preceded(trace, lacking, HISTORY_RATE)
        duration = duration and duration + seconds
        records = records and records + lacking
    schedule = traces.schedule(trace, duration=duration, records=records)
    generator.run(schedule, lambda text: print(text, flush=True))
    print(
        json.dumps({**asdict(account), "next_sequence": account.first_sequence + account.sent}),
        flush=True,
    )
    return 1 if account.failed else 0


def _producer(servers: str) -> Producer:
    # A broker may be away for minutes in a trial; a record given up would be a hole in the numbers.
    return Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "linger.ms": 20,
            "message.timeout.ms": 600_000,
            "queue.buffering.max.messages": 1_000_000,
        }
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m jobs.load.generate",
        description=f"{__doc__}\nTraces:\n{(traces.__doc__ or '').partition('.')[2]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--schema", choices=sorted(events.SCHEMAS), required=True)
    parser.add_argument("--trace", type=_trace, required=True)
    parser.add_argument("--duration", type=float, help="seconds")
    parser.add_argument("--records", type=int, help="stop after so many")
    parser.add_argument(
        "--history", type=int, default=0, help="records that the topic has before the trace begins"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--partitions", type=int, default=12, help="of a topic that is still missing"
    )
    options = parser.parse_args()
    if options.duration is None and options.records is None:
        parser.error("give --duration or --records, or it would never end")
    return options


def _trace(text: str) -> traces.Trace:
    """Read a trace; of any other error argparse would tell that the value is invalid, and not why."""
    try:
        return traces.parse_trace(text)
    except (traces.InvalidTrace, OSError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
