"""Commits: which clients may commit, what is written, what may be deleted and what has expired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.coordinator.decision import Context, Decision, Producer
from penstock.groups.group import Group, Groups
from penstock.groups.messages import CommitIdentity
from penstock.groups.offset_records import CommittedOffset, OffsetKey, encode_key, offset_record
from penstock.groups.offsets import Offsets
from penstock.groups.settings import GroupSettings
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record

FIRST_WITH_GROUP_ID_NOT_FOUND = 9  # versions of OffsetCommit that know KIP-848's errors


class Commits:
    """Decides about the offsets of one shard."""

    def __init__(self, context: Context, groups: Groups, offsets: Offsets, settings: GroupSettings) -> None:
        self._context = context
        self._groups = groups
        self._offsets = offsets
        self._settings = settings

    def commit(
        self,
        group_id: str,
        identity: CommitIdentity,
        wanted: Mapping[TopicPartition, CommittedOffset],
        producer: Producer | None = None,
    ) -> tuple[Decision, dict[TopicPartition, ErrorCode]]:
        """Each partition is decided by itself; what is accepted is written as one batch. KafkaError when the
        group refuses all of it. With a producer they count when its transaction commits."""
        self.check(group_id, identity, transactional=producer is not None)
        records: list[Record] = []
        errors: dict[TopicPartition, ErrorCode] = {}
        for place, committed in wanted.items():
            if len(committed.metadata) > self._settings.offset_metadata_max_bytes:
                errors[place] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            errors[place] = ErrorCode.NONE
            records.append(offset_record(OffsetKey(group_id, *place), committed))
        return Decision(tuple(records), producer=producer), errors

    def check(self, group_id: str, identity: CommitIdentity, *, transactional: bool = False) -> None:
        """KafkaError unless this one may commit to the group."""
        group = self._groups.get(group_id)
        if group is None:
            if identity.generation_or_epoch < 0:
                return  # a client without membership: replay makes a simple group of it
            if identity.api_version >= FIRST_WITH_GROUP_ID_NOT_FOUND and not transactional:
                raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no group {group_id}.")
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"There is no group {group_id}.")
        group.check_commit(identity, transactional=transactional)

    def fetch(
        self,
        group_id: str,
        member_id: str | None,
        member_epoch: int,
        places: Iterable[TopicPartition] | None,
        *,
        require_stable: bool,
    ) -> dict[TopicPartition, CommittedOffset | ErrorCode | None]:
        """The offset of each place (of all that have one when none is named), None where there is none."""
        group = self._groups.get(group_id)
        if group is not None:
            group.check_fetch(member_id, member_epoch)
        if places is None:
            places = [TopicPartition(key.topic, key.partition) for key in self._offsets.keys_of(group_id)]
        found: dict[TopicPartition, CommittedOffset | ErrorCode | None] = {}
        for place in places:
            key = OffsetKey(group_id, *place)
            if require_stable and self._offsets.is_unstable(key):
                found[place] = ErrorCode.UNSTABLE_OFFSET_COMMIT
            else:
                found[place] = self._offsets.find(key)
        return found

    def delete(
        self, group_id: str, places: Iterable[TopicPartition]
    ) -> tuple[Decision, dict[TopicPartition, ErrorCode]]:
        """OffsetDelete: never of a topic that a member reads."""
        group = self._groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no group {group_id}.")
        group.check_offsets_deletable()
        errors: dict[TopicPartition, ErrorCode] = {}
        records = []
        for place in places:
            topic, index = place
            if group.is_subscribed_to(topic):
                errors[place] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                continue
            errors[place] = ErrorCode.NONE
            key = OffsetKey(group_id, topic, index)
            if self._offsets.find(key) is not None or self._offsets.is_unstable(key):
                records.append(self.tombstone(key))
        return Decision(tuple(records)), errors

    def delete_all(self, group_id: str) -> list[Record]:
        return [self.tombstone(key) for key in self._offsets.keys_of(group_id)]

    def delete_topic(self, topic: str) -> Decision:
        """The topic is gone, and so are positions in it: one of the same name would not have them."""
        return Decision(tuple(self.tombstone(key) for key in self._offsets.keys_in(topic)))

    def expire(self, group_id: str, group: Group) -> tuple[list[Record], bool]:
        """Tombstones of what has expired, and whether nothing is left. An offset expires only when nobody
        could still want it: a group with members keeps those of the topics it reads, however old they are."""
        expired, left = [], self._offsets.has_open_transaction(group_id)
        for (topic, index), committed in self._offsets.of(group_id).items():
            key = OffsetKey(group_id, topic, index)
            if self._has_expired(group, topic, committed) and not self._offsets.is_unstable(key):
                expired.append(self.tombstone(key))
            else:
                left = True
        return expired, not left

    def _has_expired(self, group: Group, topic: str, committed: CommittedOffset) -> bool:
        if group.is_subscribed_to(topic):
            return False
        since_ms = group.expires_since_ms(committed)
        if since_ms is None:
            return False
        now_ms = self._context.now_ms()
        if committed.expire_timestamp_ms >= 0:
            return now_ms >= committed.expire_timestamp_ms
        return now_ms - since_ms >= self._settings.offsets_retention_ms

    def tombstone(self, key: OffsetKey) -> Record:
        return Record(encode_key(key), None, (), self._context.now_ms())
