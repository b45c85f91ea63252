"""Offsets between this client's values and librdkafka's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.client.api.exceptions import KafkaException, TimeoutException, from_librdkafka, translated
from penstock.client.api.records import OffsetAndMetadata, OffsetAndTimestamp
from penstock.protocol.topic_partition import TopicPartition


def to_library(offsets: Mapping[TopicPartition, OffsetAndMetadata | int]) -> list[Any]:
    import confluent_kafka

    found = []
    for (topic, partition), given in offsets.items():
        at = given if isinstance(given, OffsetAndMetadata) else OffsetAndMetadata(given)
        if at.offset < 0:
            raise KafkaException(
                f"Invalid offset {at.offset} for {topic}-{partition}. Offsets are never negative."
            )
        epoch = {} if at.leader_epoch is None else {"leader_epoch": at.leader_epoch}
        found.append(confluent_kafka.TopicPartition(topic, partition, at.offset, at.metadata, **epoch))
    return found


def partitions_to_library(partitions: Iterable[TopicPartition]) -> list[Any]:
    import confluent_kafka

    return [confluent_kafka.TopicPartition(topic, partition) for topic, partition in partitions]


def partitions_of(found: Iterable[Any]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in found]


def from_library(found: Iterable[Any]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Those that have an offset; an error of any of them is raised."""
    offsets = {}
    for each in found:
        if each.error is not None:
            raise from_librdkafka(each.error, f"read the offset of {each.topic}-{each.partition}")
        if each.offset >= 0:
            epoch = getattr(each, "leader_epoch", None)
            offsets[TopicPartition(each.topic, each.partition)] = OffsetAndMetadata(
                each.offset, each.metadata or "", epoch
            )
    return offsets


def rises(messages: Iterable[Any]) -> bool:
    """Whether the offsets of each partition rise, as those of one read do."""
    last: dict[tuple[str, int], int] = {}
    for message in messages:
        if message.error() is None:
            at = message.topic(), message.partition()
            if message.offset() <= last.get(at, -1):
                return False
            last[at] = message.offset()
    return True


def behind(messages: Iterable[Any]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Where a reader goes on that has read these, the last ones of their partitions."""
    return {
        TopicPartition(each.topic(), each.partition()): OffsetAndMetadata(
            each.offset() + 1, "", each.leader_epoch()
        )
        for each in messages
    }


def watermarks(library: Any, at: TopicPartition, timeout: float) -> tuple[int, int]:
    """The offsets of the first record of a partition and behind its last, as the broker has them."""
    with translated(f"ask for the offsets of {at.topic}-{at.partition}"):
        found = library.get_watermark_offsets(*partitions_to_library([at]), timeout=timeout)
    if found is None:
        raise TimeoutException(f"No offsets of {at.topic}-{at.partition} after {timeout:g} s.")
    low, high = found
    return low, high


def offsets_by_time(
    library: Any, timestamps: Mapping[TopicPartition, int], timeout: float
) -> dict[TopicPartition, OffsetAndTimestamp | None]:
    """The first offset whose timestamp (ms) is the given one or later; None where there is none."""
    import confluent_kafka

    with translated("look up offsets by time"):
        asked = [confluent_kafka.TopicPartition(*at, time_ms) for at, time_ms in timestamps.items()]
        answers: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        for each in library.offsets_for_times(asked, timeout=timeout):
            if each.error is not None:
                raise from_librdkafka(each.error, f"look up {each.topic}-{each.partition}")
            at = TopicPartition(each.topic, each.partition)
            answers[at] = OffsetAndTimestamp(each.offset, timestamps[at]) if each.offset >= 0 else None
        return answers
