"""When the last row of a topic was committed, for the sections of Connect.

Nothing but the last row is read until then: a reader in Python takes more of the machine than a worker does,
and would be what is measured. Then every row is counted; markers of transactions are not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

PATIENCE_S: Final = 900.0
LOOK_S: Final = 0.01


def await_last(servers: str, topic: str, total: int, is_last: Callable[[bytes], bool]) -> float:
    """The moment (`time.monotonic`) at which the topic's one partition had them all."""
    settings: dict[str, Any] = {
        "bootstrap.servers": servers,
        "group.id": f"count-{topic}",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 10,
        "log_level": 0,
    }
    consumer, deadline = Consumer(settings), time.monotonic() + PATIENCE_S
    try:
        while True:
            end, ended = _end(consumer, topic), time.monotonic()
            # The last record stands before the marker of its transaction.
            if end > total and (rows := _rows(consumer, topic, end - 2)) and is_last(rows[-1]):
                break
            assert ended < deadline, f"{total} rows of {topic} were not committed in {PATIENCE_S:.0f} s"
            time.sleep(LOOK_S)
        seen = len(_rows(consumer, topic, 0))
        assert seen == total, f"{seen} rows of {total} in {topic}"
        return ended
    finally:
        consumer.close()


def _end(consumer: Consumer, topic: str) -> int:
    """The end of what is committed; 0 until there is a topic and its leader answers."""
    try:
        end: int = consumer.get_watermark_offsets(TopicPartition(topic, 0), 30)[1]
    except KafkaException:
        return 0
    return end


def _rows(consumer: Consumer, topic: str, start: int) -> list[bytes]:
    """The values from an offset on."""
    consumer.assign([TopicPartition(topic, 0, start)])
    rows: list[bytes] = []
    while True:
        for each in consumer.consume(1000, 0.1):
            error = each.error()
            if error is not None:  # nothing but the end is expected
                assert error.code() == KafkaError._PARTITION_EOF, error
                return rows
            rows.append(each.value() if start else b"")
