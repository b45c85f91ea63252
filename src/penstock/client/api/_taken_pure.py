"""The part of a poll that each record passes: messages of librdkafka are checked, and become records of bytes
when somebody looks at them.

Two twins have it: `_taken_native` (Cython), which is there when a compiler was found at installation, and
this one. `penstock.client.api.taken` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.client.api.records import ConsumerRecord

TIMESTAMP_TYPES: Final = {1: "CreateTime", 2: "LogAppendTime"}
"""Java's names for librdkafka's numbers."""


def last_messages(messages: Sequence[Any]) -> list[Any] | None:
    """The last message of each partition. None where a message is an error or where the offsets of a
    partition do not rise: then the long way looks at each message."""
    last: dict[tuple[str, int], Any] = {}
    for message in messages:
        if message.error() is not None:
            return None
        at = message.topic(), message.partition()
        before = last.get(at)
        if before is not None and message.offset() <= before.offset():
            return None
        last[at] = message
    return list(last.values())


def plain_records(messages: Sequence[Any]) -> list[ConsumerRecord]:
    """Messages without an error as records."""
    new, make, types = tuple.__new__, ConsumerRecord, TIMESTAMP_TYPES
    records: list[ConsumerRecord] = []
    for message in messages:
        kind, timestamp = message.timestamp()
        fields = (
            message.topic(),
            message.partition(),
            message.offset(),
            timestamp if kind else -1,
            message.key(),
            message.value(),
            message.headers() or (),
            message.leader_epoch(),
            types.get(kind),
            None,
        )
        records.append(new(make, fields))
    return records
