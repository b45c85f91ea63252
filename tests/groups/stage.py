"""A group coordinator on a stage: one shard on a log in memory, a clock that is moved by hand, topics made at
will. Members are driven by hand, answers are promises."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Mapping

from penstock.coordinator.promise import Promise
from penstock.groups.coordinator import OFFSETS_TOPIC, GroupCoordinator
from penstock.groups.messages import (
    Client,
    CommitIdentity,
    ConsumerHeartbeat,
    ConsumerHeartbeatResult,
    HeartbeatRequest,
    JoinRequest,
    JoinResult,
    Leaver,
    LeaveResult,
    SyncRequest,
    SyncResult,
)
from penstock.groups.offset_records import CommittedOffset
from penstock.groups.settings import GroupSettings
from penstock.groups.topics import TopicInfo
from penstock.protocol.errors import ErrorCode, KafkaError
from tests.coordinator.manual_clock import ManualClock
from tests.coordinator.memory_log import MemoryLog

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
CLIENT = Client("client", "/127.0.0.1")


class StageTopics:
    """Topics by hand. Each change makes another version."""

    def __init__(self) -> None:
        self._topics: dict[str, TopicInfo] = {OFFSETS_TOPIC: TopicInfo(OFFSETS_TOPIC, bytes(16), 1)}
        self._numbers = itertools.count(1)
        self.configs: dict[str, dict[str, str]] = {}

    @property
    def version(self) -> object:
        return self._topics

    def make(self, name: str, partitions: int, racks: Iterable[Iterable[str]] = ()) -> bytes:
        present = self._topics.get(name)
        topic_id = next(self._numbers).to_bytes(16, "big") if present is None else present.topic_id
        info = TopicInfo(name, topic_id, partitions, tuple(frozenset(rack) for rack in racks))
        self._topics = {**self._topics, name: info}
        return topic_id

    def remove(self, name: str) -> None:
        self._topics = {other: info for other, info in self._topics.items() if other != name}

    def find(self, name: str) -> TopicInfo | None:
        return self._topics.get(name)

    def name_of(self, topic_id: bytes) -> str | None:
        return next((info.name for info in self._topics.values() if info.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return [name for name in self._topics if name != OFFSETS_TOPIC]

    def group_config(self, group_id: str) -> Mapping[str, str]:
        return self.configs.get(group_id, {})


class Stage:
    """One shard, which holds every group."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.clock = ManualClock()
        self.topics = StageTopics()
        self.log = MemoryLog()
        self.settings = settings or GroupSettings(initial_rebalance_delay_ms=3000)
        self._ids = itertools.count()
        self._epochs = itertools.count()
        self.groups = self._coordinator()

    def _coordinator(self) -> GroupCoordinator:
        groups = GroupCoordinator(self.settings, self.clock, self.topics, lambda: f"id{next(self._ids)}")
        groups.runtime.elect(0, self.log, next(self._epochs))
        groups.runtime.load_next()
        return groups

    def reload(self) -> None:
        """The broker is restarted: only the log is left."""
        self.groups.runtime.resign(0)
        self.groups = self._coordinator()

    def wait(self, ms: int) -> None:
        """Let time pass, timer by timer."""
        end = self.clock.ms + ms
        while True:
            deadline = self.groups.runtime.next_deadline()
            if deadline is None or deadline * 1000 > end:
                break
            self.clock.ms = max(self.clock.ms, round(deadline * 1000))
            self.groups.runtime.advance(self.clock.monotonic())
        self.clock.ms = end
        self.groups.runtime.advance(self.clock.monotonic())

    # The classic protocol

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = GROUP,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        topics: Iterable[str] = ("t",),
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        protocol_type: str = "consumer",
        version: int = 9,
        owned: Mapping[str, Iterable[int]] | None = None,
    ) -> Promise[JoinResult]:
        given = protocols or {"range": subscription(topics, owned)}
        return self.groups.join(
            JoinRequest(
                group_id,
                member_id,
                instance_id,
                session_ms,
                rebalance_ms,
                protocol_type,
                tuple(given.items()),
                CLIENT,
                version >= 4,
                version >= 9,
            )
        )

    def enter(self, **options: object) -> tuple[str, Promise[JoinResult]]:
        """A dynamic member joins twice, as KIP-394 wants it."""
        first = self.join(**options).result()  # type: ignore[arg-type]
        assert first.error is ErrorCode.MEMBER_ID_REQUIRED, first
        return first.member_id, self.join(first.member_id, **options)  # type: ignore[arg-type]

    def sync(
        self,
        member_id: str,
        generation_id: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        group_id: str = GROUP,
        instance_id: str | None = None,
        protocol_name: str | None = None,
    ) -> Promise[SyncResult]:
        return self.groups.sync(
            SyncRequest(
                group_id, member_id, instance_id, generation_id, None, protocol_name, assignments or {}
            )
        )

    def beat(
        self, member_id: str, generation_id: int, *, group_id: str = GROUP, instance_id: str | None = None
    ) -> ErrorCode:
        promise = self.groups.heartbeat(HeartbeatRequest(group_id, member_id, instance_id, generation_id))
        try:
            return promise.result()
        except KafkaError as error:
            return error.code

    def leave(self, *leavers: tuple[str, str | None], group_id: str = GROUP) -> list[LeaveResult]:
        return self.groups.leave(group_id, tuple(Leaver(*leaver) for leaver in leavers)).result()

    def stable(self, count: int, **options: object) -> tuple[list[str], int]:
        """A group of so many members, in its first generation, with an assignment of bytes for each."""
        entered = [self.enter(**options) for _ in range(count)]
        self.wait(2 * self.settings.initial_rebalance_delay_ms)
        results = {member_id: promise.result() for member_id, promise in entered}
        return list(results), self.settle(results)

    def settle(self, results: Mapping[str, JoinResult]) -> int:
        """Everybody syncs; the leader gives each member its own id as the assignment."""
        generations = {result.generation_id for result in results.values()}
        assert len(generations) == 1, results
        (generation_id,) = generations
        for member_id, result in results.items():
            if result.leader == member_id:
                plan = {member.member_id: member.member_id.encode() for member in result.members}
                self.sync(member_id, generation_id, plan)
        for member_id in results:
            answer = self.sync(member_id, generation_id).result()
            assert (answer.error, answer.assignment) == (ErrorCode.NONE, member_id.encode())
        return generation_id

    # The consumer protocol

    def consume(
        self,
        member_id: str,
        epoch: int = 0,
        *,
        topics: Iterable[str] | None = ("t",),
        owned: Mapping[bytes, Iterable[int]] | None = None,
        instance_id: str | None = None,
        rack_id: str | None = None,
        regex: str | None = None,
        assignor: str | None = None,
        group_id: str = GROUP,
        rebalance_ms: int | None = None,
        version: int = 1,
    ) -> Promise[ConsumerHeartbeatResult]:
        joins = epoch == 0
        if owned is None:
            held: Mapping[bytes, frozenset[int]] | None = {} if joins else None
        else:
            held = {topic_id: frozenset(indexes) for topic_id, indexes in owned.items()}
        return self.groups.consumer_heartbeat(
            ConsumerHeartbeat(
                group_id,
                member_id,
                epoch,
                instance_id,
                rack_id,
                (REBALANCE_MS if joins else -1) if rebalance_ms is None else rebalance_ms,
                None if topics is None or not joins else tuple(topics),
                regex,
                assignor,
                held,
                CLIENT,
                version >= 1,
            )
        )

    # Offsets

    def commit(
        self,
        offset: int,
        member_id: str = "",
        generation_or_epoch: int = -1,
        *,
        group_id: str = GROUP,
        topic: str = "t",
        partition: int = 0,
        metadata: str = "",
        instance_id: str | None = None,
        version: int = 9,
        expire_ms: int = -1,
    ) -> ErrorCode:
        committed = CommittedOffset(offset, -1, metadata, self.clock.ms, expire_ms)
        identity = CommitIdentity(member_id, instance_id, generation_or_epoch, version)
        promise = self.groups.commit(group_id, identity, {(topic, partition): committed})
        try:
            return promise.result()[topic, partition]
        except KafkaError as error:
            return error.code

    def committed(self, *, group_id: str = GROUP, topic: str = "t", partition: int = 0) -> int | None:
        found = self.groups.fetch(group_id, [(topic, partition)]).result()[topic, partition]
        assert not isinstance(found, ErrorCode)
        return None if found is None else found.offset

    def state(self, group_id: str = GROUP) -> str | None:
        listed = {
            group.group_id: group for promise in self.groups.list_groups() for group in promise.result()
        }
        return listed[group_id].state if group_id in listed else None


def subscription(topics: Iterable[str], owned: Mapping[str, Iterable[int]] | None = None) -> bytes:
    """A subscription of the embedded consumer protocol, v1, as a Java client writes it."""
    names = list(topics)
    data = struct.pack(">hi", 1, len(names)) + b"".join(_text(name) for name in names)
    data += struct.pack(">i", -1)
    partitions = {name: list(indexes) for name, indexes in (owned or {}).items()}
    data += struct.pack(">i", len(partitions))
    for name, indexes in partitions.items():
        data += _text(name) + struct.pack(f">i{len(indexes)}i", len(indexes), *indexes)
    return data


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()
