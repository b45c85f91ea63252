"""A copy job as a process of its own, to be killed: consume, transform, produce, and the offsets in the same
transaction. It ends by itself when everything is copied.

`python -m tests.faults.copy_job SERVERS INPUT OUTPUT RECORDS_A_TRANSACTION [SECURITY]`, where SECURITY is a
file with librdkafka's settings in JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from penstock.protocol.errors import ErrorCode
from penstock.protocol.errors import KafkaError as Refusal

GROUP = "copy"
PARTITIONS = 2
CALL_SECONDS = 60.0
RETRY_SECONDS = 0.2
AWAY = (
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._DESTROY_BROKER,  # the one that was asked has left the metadata
)
"""librdkafka asks again by itself in most calls; `committed` and `get_watermark_offsets` leave it to us, the
brokers' retriable errors too."""


def transform(value: bytes) -> bytes:
    return b"copy of " + value


class CopyJob:
    def __init__(
        self, servers: str, source: str, target: str, batch: int, security: dict[str, Any] | None = None
    ) -> None:
        common = {"bootstrap.servers": servers, "reconnect.backoff.max.ms": 200, **(security or {})}
        self._source = source
        self._target = target
        self._batch = batch
        self._consumer = Consumer(
            {
                **common,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 50,
            }
        )
        self._producer = Producer({**common, "transactional.id": target, "linger.ms": 5})
        self._producer.init_transactions(CALL_SECONDS)

    def run(self) -> None:
        places = [TopicPartition(self._source, index) for index in range(PARTITIONS)]
        ends = {place.partition: self._end(place) for place in places}
        positions = {
            place.partition: max(place.offset, 0)
            for place in retried(lambda: self._consumer.committed(places, CALL_SECONDS))
        }
        self._consumer.assign([TopicPartition(self._source, *position) for position in positions.items()])
        while positions != ends:
            messages = [
                message for message in self._consumer.consume(self._batch, 1.0) if message.error() is None
            ]
            if messages:
                positions.update(self._copy(messages, positions))

    def _end(self, place: TopicPartition) -> int:
        return int(retried(lambda: self._consumer.get_watermark_offsets(place, timeout=CALL_SECONDS))[1])

    def _copy(self, messages: list[Message], positions: dict[int, int]) -> dict[int, int]:
        """One transaction; the positions after it."""
        self._producer.begin_transaction()
        after = {}
        for message in messages:
            value, index, offset = message.value(), message.partition(), message.offset()
            assert value is not None
            assert index is not None
            assert offset is not None
            self._producer.produce(self._target, transform(value), partition=index)
            after[index] = offset + 1
        offsets = [TopicPartition(self._source, *position) for position in after.items()]
        metadata = self._consumer.consumer_group_metadata()
        try:
            retried(lambda: self._producer.send_offsets_to_transaction(offsets, metadata, CALL_SECONDS))
            retried(lambda: self._producer.commit_transaction(CALL_SECONDS))
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            retried(lambda: self._producer.abort_transaction(CALL_SECONDS))
            for index in after:
                self._consumer.seek(TopicPartition(self._source, index, positions[index]))
            return {}
        return after


def retried(call):  # type: ignore[no-untyped-def]
    """While the broker is away, or the client says that it is worth another attempt."""
    deadline = time.monotonic() + CALL_SECONDS
    while True:
        try:
            return call()
        except KafkaException as error:
            reason: KafkaError = error.args[0]
            fatal = reason.txn_requires_abort() or reason.fatal()
            if fatal or not is_transient(reason) or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)


def is_transient(reason: KafkaError) -> bool:
    code = reason.code()
    return reason.retriable() or code in AWAY or (code > 0 and Refusal(ErrorCode(code)).retriable)


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[5]).read_text()) if len(sys.argv) > 5 else {}
    CopyJob(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), given).run()
