"""The little of Kafka that the generator and the checker share: making topics and reading them to their end."""

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TIMEOUT_SECONDS = 30.0
_WITHOUT_LEADER = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}


class TopicMissing(Exception):
    """A topic that should be read does not exist (yet)."""


def ensure_topic(servers: str, topic: str, partitions: int) -> int:
    """Create the topic if it is missing, and give the number of partitions that it really has."""
    admin = AdminClient({"bootstrap.servers": servers})
    created = admin.create_topics(
        [NewTopic(topic, num_partitions=partitions, replication_factor=-1)]
    )
    try:
        created[topic].result(TIMEOUT_SECONDS)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
    metadata = admin.list_topics(topic, timeout=TIMEOUT_SECONDS).topics[topic]
    # A topic made this moment may not be known to every answer yet.
    return len(metadata.partitions) or partitions


class TopicReader:
    """Reads all partitions of a topic from the beginning, again and again up to what is then their end."""

    def __init__(self, servers: str, topic: str) -> None:
        self._topic = topic
        # Positions are kept here: a group would let one run of the checker hide records from the next.
        self._consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": "sluice-check", "enable.auto.commit": False}
        )
        self._positions: dict[int, int] = {}

    def end_offsets(self) -> dict[int, int]:
        """Ask for the offset after the last record of each partition."""
        topics = self._consumer.list_topics(self._topic, timeout=TIMEOUT_SECONDS).topics
        metadata = topics[self._topic]
        if metadata.error is not None or not metadata.partitions:
            raise TopicMissing(
                f"topic {self._topic!r} does not exist: has its job written anything?"
            )
        ends = {}
        for number in metadata.partitions:
            partition = TopicPartition(self._topic, number)
            first, end = self._watermarks(partition)
            self._positions.setdefault(number, first)
            ends[number] = end
        return ends

    def _watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        """Ask again while a partition has no leader: just after it was made, or when a broker went."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            try:
                first, end = self._consumer.get_watermark_offsets(
                    partition, timeout=TIMEOUT_SECONDS
                )
            except KafkaException as error:
                if error.args[0].code() not in _WITHOUT_LEADER or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return first, end

    def read_new(self) -> Iterator[Message]:
        """Give every record between the last call's end and the end of now."""
        ends = self.end_offsets()
        behind = {number for number, end in ends.items() if self._positions[number] < end}
        self._consumer.assign([TopicPartition(self._topic, n, self._positions[n]) for n in behind])
        while behind:
            for message in self._consumer.consume(5000, timeout=1.0):
                if message.error():
                    raise KafkaException(message.error())
                number = message.partition()
                if message.offset() < ends[number]:
                    self._positions[number] = message.offset() + 1
                    yield message
                if message.offset() + 1 >= ends[number]:
                    behind.discard(number)

    def close(self) -> None:
        self._consumer.close()
