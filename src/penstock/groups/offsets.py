"""Committed offsets of the groups of one shard. Pure: `decide_commit` gives records, `replay` applies one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.groups.offset_records import (
    CommittedOffset,
    OffsetKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record

SIMPLE_CONSUMER: Final = -1  # the generation of a client that is a member of nothing


class CommittedOffsets:
    """State of one shard, changed by `replay` only."""

    def __init__(self, metadata_max_bytes: int) -> None:
        self._metadata_max_bytes = metadata_max_bytes
        self._groups: dict[str, dict[tuple[str, int], CommittedOffset]] = {}

    def decide_commit(self, key: OffsetKey, committed: CommittedOffset, generation_id: int) -> Record:
        """The record of one commit, or Kafka's reason to refuse it."""
        if not key.group:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID, "The configured groupId is invalid: it is empty.")
        if generation_id != SIMPLE_CONSUMER:
            # Members of groups are not served yet, so whoever claims a generation is nobody's member.
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"The group {key.group} has no members.")
        if len(committed.metadata.encode()) > self._metadata_max_bytes:
            raise KafkaError(
                ErrorCode.OFFSET_METADATA_TOO_LARGE,
                f"The metadata of {key.topic}-{key.partition} is longer than "
                f"{self._metadata_max_bytes} bytes.",
            )
        return Record(encode_key(key), encode_value(committed), (), committed.commit_timestamp_ms)

    def replay(self, records: Iterable[Record]) -> None:
        for record in records:
            key = decode_key(record.key) if record.key is not None else None
            if key is None:
                continue
            group = self._groups.setdefault(key.group, {})
            if record.value is None:
                group.pop((key.topic, key.partition), None)
            else:
                group[key.topic, key.partition] = decode_value(record.value)

    def of(self, group: str) -> Mapping[tuple[str, int], CommittedOffset]:
        """Everything the group has committed."""
        return self._groups.get(group, {})
