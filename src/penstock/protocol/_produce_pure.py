"""The Produce request, read in Python: the twin of `_reader_native.read_produce_request`, and what it means.

`penstock.protocol.produce` chooses between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from penstock.protocol._reader_pure import Reader

TOPIC_IDS_FROM: Final = 13
NO_TOPIC_ID: Final = bytes(16)


class PartitionData(NamedTuple):
    """The batches for one partition, a view into the request's own buffer."""

    partition: int
    records: memoryview | None


class TopicData(NamedTuple):
    """A topic by name, or from v13 on by id."""

    name: str
    topic_id: bytes
    partitions: list[PartitionData]


class ProduceRequest(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[TopicData]


def read_produce_request(reader: Reader, version: int) -> ProduceRequest:
    transactional_id = reader.nullable_string()
    acks, timeout_ms = reader.int16(), reader.int32()
    topics = []
    for _ in range(reader.array(4)):
        name, topic_id = ("", reader.uuid()) if version >= TOPIC_IDS_FROM else (reader.string(), NO_TOPIC_ID)
        partitions = []
        for _ in range(reader.array(5)):
            partitions.append(PartitionData(reader.int32(), reader.nullable_bytes()))
            reader.tags()
        reader.tags()
        topics.append(TopicData(name, topic_id, partitions))
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)
