"""`python3 -m jobs.load.check`: count exactly what a demo job lost, repeated or got wrong.

The input topic is read for what a right job must have written, the output topic for what is there. The last line is
the account as JSON; the exit status is 1 when something is missing, wrong or unknown, or nothing was to be written (and
with --exactly-once, when something came twice: Spark's Kafka sink alone promises at-least-once). Only tumbling windows
are checked.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict

from jobs.load import accounts, topics
from jobs.load.events import Fields
from jobs.load.latency import Latencies

POLL_SECONDS = 2.0


class Check:
    """Follows the input and the output of one job."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._job = accounts.JOBS[options.job]
        self._window = int(options.window * 1000)
        self._input = topics.TopicReader(options.bootstrap_servers, options.input_topic)
        self._output = topics.TopicReader(options.bootstrap_servers, options.output_topic)
        self._sequences: list[int] = []
        self._expected: accounts.Expected = {}
        self._observed = accounts.Observed(windowed=self._job.windowed)
        self._latencies = Latencies()

    def update(self) -> accounts.Account:
        """Read what is new in both topics and compare."""
        # The output first: whatever goes through the job meanwhile then lacks for now, else it would be unknown.
        try:
            for message in self._output.read_new():
                self._take(json.loads(message.value()), message.timestamp()[1])
        except topics.TopicMissing as missing:
            print(missing, flush=True)
        for message in self._input.read_new():
            event = json.loads(message.value())
            self._sequences.append(event["sequence"])
            self._job.expect(event, self._window, self._expected)
        return accounts.compare(self._expected, self._observed)

    def _take(self, row: Fields, written: int) -> None:
        identity = self._job.identity(row)
        if "event_time" in row and identity not in self._observed.values:
            self._latencies.add(written - int(row["event_time"]))
        self._observed.add(identity, self._job.value(row))

    def report(self, account: accounts.Account) -> dict[str, object]:
        """Put the account, the state of the input and the latencies into one object."""
        return {
            "right": account.is_right,
            "input": accounts.numbering_faults(self._sequences),
            **asdict(account),
            "latency_milliseconds": self._latencies.summary(),
        }


def main() -> int:
    options = _options()
    check = Check(options)
    start = time.monotonic()
    account = check.update()
    while not account.is_complete and time.monotonic() - start < options.wait:
        print(
            f"[{time.monotonic() - start:7.1f} s] {account.missing} of {account.expected} missing,"
            f" {account.wrong} not final, {account.duplicates} twice",
            flush=True,
        )
        time.sleep(POLL_SECONDS)
        account = check.update()
    print(json.dumps(check.report(account)), flush=True)
    is_accepted = account.is_right and not (options.exactly_once and account.duplicates)
    return 0 if is_accepted else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m jobs.load.check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--job", choices=sorted(accounts.JOBS), required=True)
    parser.add_argument("--input-topic", required=True)
    parser.add_argument("--output-topic", required=True)
    parser.add_argument("--window", type=float, default=10.0, help="seconds, as the job has it")
    parser.add_argument(
        "--wait", type=float, default=0.0, help="poll up to so many seconds until all is there"
    )
    parser.add_argument(
        "--exactly-once",
        action="store_true",
        help="duplicates are a failure too; of jobs with numbered records",
    )
    options = parser.parse_args()
    if options.exactly_once and accounts.JOBS[options.job].windowed:
        # It would accept whatever there is.
        parser.error(
            f"--exactly-once: rows of --job={options.job} replace each other, none is twice"
        )
    return options


if __name__ == "__main__":
    sys.exit(main())
