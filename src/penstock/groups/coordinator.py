"""The group coordinator of a broker: finds the shard of a group and asks it.

Every answer is a promise that is done when what it rests on is committed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from penstock.clock import Clock
from penstock.coordinator.decision import Context, Decision, Producer
from penstock.coordinator.promise import Promise, done, failed
from penstock.coordinator.runtime import Runtime
from penstock.coordinator.sharding import shard_of
from penstock.groups.messages import (
    UNKNOWN_MEMBER_ID,
    CommitIdentity,
    ConsumerHeartbeat,
    ConsumerHeartbeatResult,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribedShareGroup,
    GroupKind,
    HeartbeatRequest,
    JoinRequest,
    JoinResult,
    Leaver,
    LeaveResult,
    ListedGroup,
    ShareHeartbeat,
    ShareHeartbeatResult,
    SyncRequest,
    SyncResult,
)
from penstock.groups.offset_records import CommittedOffset
from penstock.groups.settings import GroupSettings
from penstock.groups.shard import GroupShard
from penstock.groups.share_records import StateTopic
from penstock.groups.topics import Topics
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec

OFFSETS_TOPIC: Final = "__consumer_offsets"

_log = logging.getLogger(__name__)

T = TypeVar("T")


class GroupCoordinator:
    """All groups of this broker. `runtime` is driven by `server`."""

    def __init__(
        self, settings: GroupSettings, clock: Clock, topics: Topics, new_id: Callable[[], str]
    ) -> None:
        self._settings = settings
        self._topics = topics

        def new_state(context: Context) -> GroupShard:
            return GroupShard(context, settings, topics, new_id)

        self.topic = OFFSETS_TOPIC
        self.runtime: Runtime[GroupShard] = Runtime(
            OFFSETS_TOPIC, clock, new_state, Codec(settings.offsets_topic_codec)
        )

    # The classic protocol

    def join(self, request: JoinRequest) -> Promise[JoinResult]:
        promise: Promise[JoinResult] = Promise()
        lowest, highest = self._settings.min_session_timeout_ms, self._settings.max_session_timeout_ms
        try:
            check_group_id(request.group_id)
            if not lowest <= request.session_timeout_ms <= highest:
                raise KafkaError(
                    ErrorCode.INVALID_SESSION_TIMEOUT, f"A session lasts {lowest} to {highest} milliseconds."
                )
            self._submit(request.group_id, lambda shard: shard.join(request, promise))
        except KafkaError as error:
            promise.complete(JoinResult(error.code, request.member_id))
        return promise

    def sync(self, request: SyncRequest) -> Promise[SyncResult]:
        promise: Promise[SyncResult] = Promise()
        try:
            check_group_id(request.group_id)
            self._submit(request.group_id, lambda shard: shard.sync(request, promise))
        except KafkaError as error:
            # A client that is told "loading" here would sync again; it has to join again, as in Kafka.
            loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            promise.complete(SyncResult(ErrorCode.REBALANCE_IN_PROGRESS if loading else error.code))
        return promise

    def heartbeat(self, request: HeartbeatRequest) -> Promise[ErrorCode]:
        promise = self._ask(request.group_id, lambda shard: shard.heartbeat(request), named=True)
        if promise.done:
            try:
                promise.result()
            except KafkaError as error:
                if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    # The group is still known here, only not yet read: the member need not do anything.
                    return done(ErrorCode.NONE)
        return promise

    def leave(self, group_id: str, leavers: tuple[Leaver, ...]) -> Promise[list[LeaveResult]]:
        return self._ask(group_id, lambda shard: shard.leave(group_id, leavers), named=True)

    # The consumer protocol

    def consumer_heartbeat(self, request: ConsumerHeartbeat) -> Promise[ConsumerHeartbeatResult]:
        if not self._settings.consumer_protocol_offered:
            return failed(KafkaError(ErrorCode.UNSUPPORTED_VERSION, "The consumer protocol is switched off."))
        return self._ask(request.group_id, lambda shard: shard.consumer_heartbeat(request))

    def describe_consumer(self, group_id: str) -> Promise[DescribedConsumerGroup]:
        return self._read(group_id, lambda shard: shard.describe_consumer(group_id))

    # Share groups

    def share_heartbeat(self, request: ShareHeartbeat) -> Promise[ShareHeartbeatResult]:
        if not self._settings.share_protocol_offered:
            return failed(KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Share groups are switched off."))
        return self._ask(request.group_id, lambda shard: shard.share_heartbeat(request))

    def describe_share(self, group_id: str) -> Promise[DescribedShareGroup]:
        return self._read(group_id, lambda shard: shard.describe_share(group_id))

    def share_topics(self, group_id: str, *, of_empty: bool = False) -> Promise[dict[bytes, StateTopic]]:
        """By topic id, what a share group has read; with `of_empty` refused while it has members."""
        return self._read(group_id, lambda shard: shard.share_topics(group_id, of_empty=of_empty))

    def note_share_topics(self, group_id: str, topics: dict[bytes, StateTopic]) -> Promise[None]:
        return self._ask(group_id, lambda shard: shard.note_share_topics(group_id, topics))

    def kind_of(self, group_id: str) -> Promise[GroupKind | None]:
        return self._read(group_id, lambda shard: shard.kind_of(group_id))

    # Offsets

    def commit(
        self,
        group_id: str,
        identity: CommitIdentity,
        wanted: Mapping[TopicPartition, CommittedOffset],
        producer: Producer | None = None,
    ) -> Promise[dict[TopicPartition, ErrorCode]]:
        def decide(shard: GroupShard) -> tuple[Decision, dict[TopicPartition, ErrorCode]]:
            decided = shard.commits.commit(group_id, identity, wanted, producer)
            if producer is None and identity.member_id != UNKNOWN_MEMBER_ID:
                shard.renew(group_id, identity.member_id)
            return decided

        return self._ask(group_id, decide)

    def fetch(
        self,
        group_id: str,
        places: Iterable[TopicPartition] | None,
        *,
        member_id: str | None = None,
        member_epoch: int = -1,
        require_stable: bool = False,
    ) -> Promise[dict[TopicPartition, CommittedOffset | ErrorCode | None]]:
        return self._read(
            group_id,
            lambda shard: shard.commits.fetch(
                group_id, member_id, member_epoch, places, require_stable=require_stable
            ),
        )

    def delete_offsets(
        self, group_id: str, places: list[TopicPartition]
    ) -> Promise[dict[TopicPartition, ErrorCode]]:
        return self._ask(group_id, lambda shard: shard.commits.delete(group_id, places))

    def topics_deleted(self, gone: Mapping[str, bytes]) -> None:
        """Offsets committed in a topic that is gone go too."""
        for index in self.runtime.active_shards():
            try:
                self.runtime.submit(index, lambda shard: shard.topics_deleted(gone))
            except KafkaError as error:
                _log.warning("offsets in deleted topics stay until they expire: %s", error)

    # Tools

    def list_groups(self) -> list[Promise[list[ListedGroup]]]:
        """Shard by shard. KafkaError when one is still loading: a list with holes would be believed."""
        if self.runtime.is_loading():
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "Groups are still being loaded.")
        shards = self.runtime.active_shards()
        return [self.runtime.read(index, lambda shard: shard.list_groups()) for index in shards]

    def describe_classic(self, group_id: str) -> Promise[DescribedGroup]:
        return self._read(group_id, lambda shard: shard.describe_classic(group_id))

    def delete_group(self, group_id: str) -> Promise[None]:
        return self._ask(group_id, lambda shard: shard.delete_group(group_id))

    # Inside

    def shard_of(self, group_id: str) -> int:
        """The partition of the offsets topic that holds the group."""
        topic = self._topics.find(OFFSETS_TOPIC)
        if topic is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC} is not there yet.")
        return shard_of(group_id, topic.partitions)

    def _submit(self, group_id: str, decide: Callable[[GroupShard], Decision]) -> None:
        self.runtime.submit(self.shard_of(group_id), decide)

    def _ask(
        self, group_id: str, decide: Callable[[GroupShard], tuple[Decision, T]], *, named: bool = False
    ) -> Promise[T]:
        try:
            if named:
                check_group_id(group_id)
            return self.runtime.ask(self.shard_of(group_id), decide)
        except KafkaError as error:
            return failed(error)

    def _read(self, group_id: str, look: Callable[[GroupShard], T]) -> Promise[T]:
        try:
            return self.runtime.read(self.shard_of(group_id), look)
        except KafkaError as error:
            return failed(error)


def check_group_id(group_id: str) -> None:
    """Members need a group with a name; offsets alone may be committed without one, as ever."""
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, "The group id is empty.")
