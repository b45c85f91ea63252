"""From the records of one partition of `__consumer_offsets` back to its groups and their offsets.

The kind of a record's key says which method takes it. A record of one kind of group replaces a group of
another kind under the same id: that is how a group changes its protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.coordinator.shard_log import Entry
from penstock.groups import consumer_records, group_records, offset_records, share_records
from penstock.groups.classic_group import ClassicGroup
from penstock.groups.consumer_group import ConsumerGroup
from penstock.groups.group import Groups
from penstock.groups.offsets import Offsets
from penstock.groups.record_keys import KeyKind, read_kind
from penstock.groups.share_group import ShareGroup
from penstock.protocol.primitives import Reader


class Replay:
    """Brings groups and offsets to what the records say."""

    def __init__(self, groups: Groups, offsets: Offsets) -> None:
        self._groups = groups
        self._offsets = offsets

    def replay(self, entry: Entry) -> None:
        """Apply one record. A record of a kind that this version does not know is passed over."""
        if entry.record.key is None:
            return
        kind, reader = read_kind(entry.record.key)
        if kind is not None:
            _METHODS[kind](self, reader, entry)

    def offset(self, reader: Reader, entry: Entry) -> None:
        key, value = offset_records.decode_key(reader), entry.record.value
        committed = None if value is None else offset_records.decode_value(value)
        self._offsets.replay(key, committed, entry.producer_id, entry.record.offset)
        if committed is not None and key.group not in self._groups:
            self._groups[key.group] = ClassicGroup(key.group, persisted=True)  # a simple group, so far

    def classic_group(self, reader: Reader, entry: Entry) -> None:
        group_id, value = reader.string(), entry.record.value
        group = self._groups.find(group_id, ClassicGroup)
        if value is None:
            if group is not None:
                del self._groups[group_id]
            return
        if group is None:
            group = self._groups[group_id] = ClassicGroup(group_id)
        group.replay(group_records.decode_value(value))

    def _consumer_group(self, reader: Reader, entry: Entry) -> ConsumerGroup | None:
        """The group whose id comes next, made when it is not there; None for the tombstone of something that
        is gone."""
        group_id = reader.string()
        group = self._groups.find(group_id, ConsumerGroup)
        if group is None and entry.record.value is not None:
            group = self._groups[group_id] = ConsumerGroup(group_id)
        return group

    def consumer_epoch(self, reader: Reader, entry: Entry) -> None:
        group, value = self._consumer_group(reader, entry), entry.record.value
        if group is None:
            return
        if value is None:
            del self._groups[group.group_id]
        else:
            group.epoch = consumer_records.decode_number(value)
            group.epoch_timestamp_ms = entry.record.timestamp_ms

    def consumer_topics(self, reader: Reader, entry: Entry) -> None:
        group, value = self._consumer_group(reader, entry), entry.record.value
        if group is not None:
            group.topics = {} if value is None else consumer_records.decode_topics(value)

    def consumer_member(self, reader: Reader, entry: Entry) -> None:
        group, value = self._consumer_group(reader, entry), entry.record.value
        if group is not None:
            metadata = None if value is None else consumer_records.decode_member(value)
            group.replay_member(reader.string(), metadata)

    def consumer_target_epoch(self, reader: Reader, entry: Entry) -> None:
        group, value = self._consumer_group(reader, entry), entry.record.value
        if group is not None:
            group.target_epoch = 0 if value is None else consumer_records.decode_number(value)

    def consumer_target(self, reader: Reader, entry: Entry) -> None:
        group, value = self._consumer_group(reader, entry), entry.record.value
        if group is not None:
            target = None if value is None else consumer_records.decode_target(value)
            group.replay_target(reader.string(), target)

    def consumer_current(self, reader: Reader, entry: Entry) -> None:
        group, value = self._consumer_group(reader, entry), entry.record.value
        if group is not None:
            current = None if value is None else consumer_records.decode_current(value)
            group.replay_current(reader.string(), current)

    def consumer_regex(self, reader: Reader, entry: Entry) -> None:
        group, value = self._consumer_group(reader, entry), entry.record.value
        if group is not None:
            regex = None if value is None else consumer_records.decode_regex(value)
            group.replay_regex(reader.string(), regex)

    # Share groups

    def _share_group(self, reader: Reader, entry: Entry) -> ShareGroup | None:
        """As `_consumer_group`."""
        group_id = reader.string()
        group = self._groups.find(group_id, ShareGroup)
        if group is None and entry.record.value is not None:
            group = self._groups[group_id] = ShareGroup(group_id)
        return group

    def share_epoch(self, reader: Reader, entry: Entry) -> None:
        group, value = self._share_group(reader, entry), entry.record.value
        if group is None:
            return
        if value is None:
            del self._groups[group.group_id]
        else:
            group.epoch = consumer_records.decode_number(value)

    def share_member(self, reader: Reader, entry: Entry) -> None:
        group, value = self._share_group(reader, entry), entry.record.value
        if group is not None:
            metadata = None if value is None else share_records.decode_share_member(value)
            group.replay_member(reader.string(), metadata)

    def share_target_epoch(self, reader: Reader, entry: Entry) -> None:
        group, value = self._share_group(reader, entry), entry.record.value
        if group is not None:
            group.target_epoch = 0 if value is None else consumer_records.decode_number(value)

    def share_target(self, reader: Reader, entry: Entry) -> None:
        group, value = self._share_group(reader, entry), entry.record.value
        if group is not None:
            target = None if value is None else consumer_records.decode_target(value)
            group.replay_target(reader.string(), target)

    def share_current(self, reader: Reader, entry: Entry) -> None:
        group, value = self._share_group(reader, entry), entry.record.value
        if group is not None:
            current = None if value is None else share_records.decode_share_current(value)
            group.replay_current(reader.string(), current)

    def share_state_topics(self, reader: Reader, entry: Entry) -> None:
        group, value = self._share_group(reader, entry), entry.record.value
        if group is not None:
            group.state_topics = {} if value is None else share_records.decode_state_topics(value)


_METHODS: Final[dict[KeyKind, Callable[[Replay, Reader, Entry], None]]] = {
    KeyKind.OFFSET_COMMIT_OLD: Replay.offset,
    KeyKind.OFFSET_COMMIT: Replay.offset,
    KeyKind.GROUP: Replay.classic_group,
    KeyKind.CONSUMER_GROUP: Replay.consumer_epoch,
    KeyKind.CONSUMER_TOPICS: Replay.consumer_topics,
    KeyKind.CONSUMER_MEMBER: Replay.consumer_member,
    KeyKind.CONSUMER_TARGET: Replay.consumer_target_epoch,
    KeyKind.CONSUMER_TARGET_MEMBER: Replay.consumer_target,
    KeyKind.CONSUMER_CURRENT_MEMBER: Replay.consumer_current,
    KeyKind.CONSUMER_REGEX: Replay.consumer_regex,
    KeyKind.SHARE_GROUP: Replay.share_epoch,
    KeyKind.SHARE_MEMBER: Replay.share_member,
    KeyKind.SHARE_TARGET: Replay.share_target_epoch,
    KeyKind.SHARE_TARGET_MEMBER: Replay.share_target,
    KeyKind.SHARE_CURRENT_MEMBER: Replay.share_current,
    KeyKind.SHARE_STATE_TOPICS: Replay.share_state_topics,
}
