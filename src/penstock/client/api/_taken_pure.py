"""The part of a poll that each record passes: messages of librdkafka as records of bytes.

Two twins have it: `_taken_native` (Cython), which is there when a compiler was found at installation, and
this one. `penstock.client.api.taken` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.client.api.records import ConsumerRecord

TIMESTAMP_TYPES: Final = {1: "CreateTime", 2: "LogAppendTime"}
"""Java's names for librdkafka's numbers."""


def plain_records(messages: Sequence[Any]) -> tuple[list[ConsumerRecord], list[ConsumerRecord]] | None:
    """The records, and the last one of each run of a partition. None where a message is an error or where the
    offsets of a partition do not rise: then the long way looks at each message."""
    new, make, types = tuple.__new__, ConsumerRecord, TIMESTAMP_TYPES
    records: list[ConsumerRecord] = []
    ends: list[ConsumerRecord] = []
    seen: set[tuple[str, int]] = set()
    topic, partition, last = "", -1, -1
    for message in messages:
        if message.error() is not None:
            return None
        offset = message.offset()
        if message.partition() != partition or message.topic() != topic:
            if records:
                ends.append(records[-1])
            topic, partition = message.topic(), message.partition()
            if (topic, partition) in seen:
                return None
            seen.add((topic, partition))
        elif offset <= last:
            return None
        last = offset
        kind, timestamp = message.timestamp()
        fields = (
            topic,
            partition,
            offset,
            timestamp if kind else -1,
            message.key(),
            message.value(),
            message.headers() or (),
            message.leader_epoch(),
            types.get(kind),
            None,
        )
        records.append(new(make, fields))
    if records:
        ends.append(records[-1])
    return records, ends
