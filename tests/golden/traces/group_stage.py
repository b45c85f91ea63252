"""A group coordinator for traces: one shard on a log in memory, members that do what a command says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.coordinator.promise import Promise
from penstock.coordinator.shard_log import Entry
from penstock.groups import consumer_records, group_records, offset_records
from penstock.groups.consumer_group import MemberState
from penstock.groups.embedded import decode_assignment, encode_assignment
from penstock.groups.messages import ConsumerHeartbeatResult, JoinResult, SyncResult
from penstock.groups.record_keys import KeyKind, read_kind
from penstock.protocol.errors import ErrorCode, KafkaError
from tests.golden.traces.trace import Command
from tests.groups.stage import Stage

Partitions = dict[str, tuple[int, ...]]


class GroupStage:
    """Commands of the traces in `groups/`. Members have names; their ids are shown as these names."""

    def __init__(self) -> None:
        self._stage = Stage()
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._waiting: list[tuple[str, Promise[Any]]] = []
        self._generations: dict[str, int] = {}
        self._owned: dict[str, Mapping[bytes, frozenset[int]]] = {}
        self._shown = 0

    def do(self, command: Command) -> Iterator[str]:
        run: Callable[[Command], Iterator[str]] = getattr(self, f"_do_{command.name.replace('-', '_')}")
        lines: list[str] = []
        try:
            lines += run(command)
        except KafkaError as error:
            lines.append(f"refused: {error.code.name}")
        lines = [*self._records(), *lines, *self._answers()]
        yield from map(self._with_names, lines)

    # Around the group

    def _do_topic(self, command: Command) -> Iterator[str]:
        """`topic t partitions=4`"""
        self._stage.topics.make(command.words[0], int(command.options["partitions"]))
        yield from ()

    def _do_pass(self, command: Command) -> Iterator[str]:
        """`pass 10000`: time passes, and timers fire."""
        self._stage.wait(command.number())
        yield from ()

    def _do_restart(self, command: Command) -> Iterator[str]:
        """The broker is restarted: only the log is left."""
        self._stage.reload()
        yield from ()

    def _do_show(self, command: Command) -> Iterator[str]:
        for promise in self._stage.groups.list_groups():
            for group in promise.result():
                yield f"  group {group.group_id}: {group.group_type}, {group.state}"
        if not any(promise.result() for promise in self._stage.groups.list_groups()):
            yield "  there is no group"

    # The classic protocol

    def _do_join(self, command: Command) -> Iterator[str]:
        """`join A topics=t instance=i`: JoinGroup. A new member is given an id and joins again with it."""
        name = command.words[0]
        topics = command.options.get("topics", "t").split(",")
        instance = command.options.get("instance")
        promise = self._join(name, topics, instance)
        if promise.done and promise.result().error is ErrorCode.MEMBER_ID_REQUIRED:
            self._name(name, promise.result().member_id)
            yield f"{name} is given an id and joins again with it"
            promise = self._join(name, topics, instance)
        self._waiting.append((name, promise))

    def _join(self, name: str, topics: list[str], instance: str | None) -> Promise[JoinResult]:
        owned = {
            self._stage.topics.name_of(key) or "": value for key, value in self._owned.get(name, {}).items()
        }
        return self._stage.join(self._ids.get(name, ""), topics=topics, instance_id=instance, owned=owned)

    def _do_sync(self, command: Command) -> Iterator[str]:
        """`sync A A=t:0,1 B=t:2`: SyncGroup; the leader says who gets what."""
        name = command.words[0]
        plan = {
            self._ids[member]: encode_assignment(_parsed(text), 1)
            for member, text in command.options.items()
            if member != "generation"
        }
        generation = int(command.options.get("generation", self._generations[name]))
        self._waiting.append((name, self._stage.sync(self._ids[name], generation, plan)))
        yield from ()

    def _do_heartbeat(self, command: Command) -> Iterator[str]:
        name = command.words[0]
        code = self._stage.beat(self._ids[name], self._generations[name])
        yield f"{name} is answered: {code.name}"

    def _do_leave(self, command: Command) -> Iterator[str]:
        name = command.words[0]
        (result,) = self._stage.leave((self._ids[name], None))
        yield f"{name} is answered: {result.error.name}"

    # The consumer protocol

    def _do_consume(self, command: Command) -> Iterator[str]:
        """`consume A`: ConsumerGroupHeartbeat with the epoch that the member knows. `epoch=0` joins,
        `epoch=-1` leaves, `owned=t:0,1` reports partitions that the member has."""
        name, options = command.words[0], command.options
        epoch = int(options.get("epoch", self._generations.get(name, 0)))
        if name not in self._ids:
            self._name(name, f"member-{name}")
        owned = None
        if "owned" in options:
            parsed = _parsed(options["owned"])
            owned = {self._topic_id(topic): indexes for topic, indexes in parsed.items()}
        topics = options.get("topics", "t").split(",")
        promise = self._stage.consume(self._ids[name], epoch, topics=topics, owned=owned)
        self._waiting.append((name, promise))
        yield from ()

    # Offsets

    def _do_commit(self, command: Command) -> Iterator[str]:
        """`commit A t:0 offset=5`; without a member, `commit - t:0 offset=5`."""
        name = command.words[0]
        ((topic, (partition,)),) = _parsed(command.words[1]).items()
        code = self._stage.commit(
            int(command.options["offset"]),
            self._ids.get(name, ""),
            int(command.options.get("epoch", self._generations.get(name, -1))),
            topic=topic,
            partition=partition,
        )
        yield f"{name} is answered: {code.name}"

    def _do_committed(self, command: Command) -> Iterator[str]:
        """`committed t:0`"""
        ((topic, (partition,)),) = _parsed(command.words[0]).items()
        offset = self._stage.committed(topic=topic, partition=partition)
        yield f"  {topic}:{partition} is committed up to {'nothing' if offset is None else offset}"

    # What happened

    def _answers(self) -> Iterator[str]:
        still: list[tuple[str, Promise[Any]]] = []
        for name, promise in self._waiting:
            if not promise.done:
                still.append((name, promise))
                continue
            try:
                yield f"{name} is answered: {self._answer(name, promise.result())}"
            except KafkaError as error:
                yield f"{name} is answered: {error.code.name}"
        self._waiting = still
        if still:
            yield f"waiting: {', '.join(name for name, _ in still)}"

    def _answer(self, name: str, result: Any) -> str:
        match result:
            case JoinResult() if result.error is ErrorCode.NONE:
                self._name(name, result.member_id)
                self._generations[name] = result.generation_id
                is_leader = result.leader == result.member_id
                members = ", ".join(member.member_id for member in result.members)
                return f"generation {result.generation_id}" + (f", leads {members}" if is_leader else "")
            case SyncResult() if result.error is ErrorCode.NONE:
                partitions = decode_assignment(result.assignment)
                self._owned[name] = {
                    self._topic_id(topic): frozenset(indexes) for topic, indexes in partitions.items()
                }
                return f"it has {_partitions(partitions)}"
            case ConsumerHeartbeatResult():
                self._generations[name] = result.member_epoch
                given = "nothing new" if result.assignment is None else self._assigned(result.assignment)
                return f"epoch {result.member_epoch}, {given}"
        return str(result.error.name)

    def _records(self) -> Iterator[str]:
        """Every record that was written since the last command."""
        for offset, item in self._stage.log.items:
            if offset >= self._shown and isinstance(item, Entry):
                yield f"  {self._record(item)}"
        self._shown = self._stage.log.end_offset

    def _record(self, entry: Entry) -> str:
        assert entry.record.key is not None
        kind, reader = read_kind(entry.record.key)
        value = entry.record.value
        assert kind is not None
        if kind is KeyKind.OFFSET_COMMIT:
            key = offset_records.decode_key(reader)
            said = "gone" if value is None else f"offset {offset_records.decode_value(value).offset}"
            return f"OffsetCommit {key.group} {key.topic}:{key.partition}: {said}"
        texts = [reader.string()]
        if kind in _WITH_MEMBER:
            texts.append(reader.string())
        said = "gone" if value is None else self._said(kind, value)
        return f"{_KINDS[kind]} {' '.join(texts)}: {said}"

    def _said(self, kind: KeyKind, value: bytes) -> str:
        match kind:
            case KeyKind.GROUP:
                group = group_records.decode_value(value)
                members = "; ".join(
                    f"{member.member_id} has {_partitions(decode_assignment(member.assignment))}"
                    for member in group.members
                )
                return f"generation {group.generation_id}, {members or 'empty'}"
            case KeyKind.CONSUMER_GROUP | KeyKind.CONSUMER_TARGET:
                return f"epoch {consumer_records.decode_number(value)}"
            case KeyKind.CONSUMER_MEMBER:
                told = consumer_records.decode_member(value)
                classic = ", classic" if told.classic is not None else ""
                return f"reads {', '.join(told.topic_names)}{classic}"
            case KeyKind.CONSUMER_TARGET_MEMBER:
                return f"should have {self._assigned(consumer_records.decode_target(value))}"
            case KeyKind.CONSUMER_CURRENT_MEMBER:
                current = consumer_records.decode_current(value)
                revoked = (
                    f", gives up {self._assigned(current.pending_revocation)}"
                    if current.pending_revocation
                    else ""
                )
                state = MemberState(current.state).name.lower()
                return (
                    f"epoch {current.member_epoch}, {state}, has {self._assigned(current.assigned)}{revoked}"
                )
            case KeyKind.CONSUMER_TOPICS:
                topics = consumer_records.decode_topics(value).values()
                return ", ".join(f"{topic.name} with {topic.partitions} partitions" for topic in topics)
        return "written"

    # Names

    def _name(self, name: str, member_id: str) -> None:
        self._names.pop(self._ids.get(name, ""), None)
        self._ids[name], self._names[member_id] = member_id, name

    def _with_names(self, line: str) -> str:
        if not self._names:
            return line
        ids = "|".join(re.escape(member_id) for member_id in sorted(self._names, key=len, reverse=True))
        return re.sub(ids, lambda match: self._names[match[0]], line)

    def _topic_id(self, topic: str) -> bytes:
        found = self._stage.topics.find(topic)
        assert found is not None, topic
        return found.topic_id

    def _assigned(self, assignment: Mapping[bytes, frozenset[int]]) -> str:
        topics = self._stage.topics
        return _partitions(
            {topics.name_of(key) or "?": tuple(sorted(value)) for key, value in assignment.items()}
        )


_WITH_MEMBER = {
    KeyKind.CONSUMER_MEMBER,
    KeyKind.CONSUMER_TARGET_MEMBER,
    KeyKind.CONSUMER_CURRENT_MEMBER,
    KeyKind.CONSUMER_REGEX,
}
_KINDS = {
    KeyKind.GROUP: "GroupMetadata",
    KeyKind.CONSUMER_GROUP: "ConsumerGroupMetadata",
    KeyKind.CONSUMER_TOPICS: "ConsumerGroupPartitionMetadata",
    KeyKind.CONSUMER_MEMBER: "ConsumerGroupMemberMetadata",
    KeyKind.CONSUMER_TARGET: "ConsumerGroupTargetAssignmentMetadata",
    KeyKind.CONSUMER_TARGET_MEMBER: "ConsumerGroupTargetAssignmentMember",
    KeyKind.CONSUMER_CURRENT_MEMBER: "ConsumerGroupCurrentMemberAssignment",
    KeyKind.CONSUMER_REGEX: "ConsumerGroupRegularExpression",
}


def _parsed(text: str) -> Partitions:
    """`t:0,1;u:0`; nothing for an empty text."""
    found: Partitions = {}
    for part in filter(None, text.split(";")):
        topic, _, indexes = part.partition(":")
        found[topic] = tuple(int(index) for index in indexes.split(",") if index)
    return found


def _partitions(partitions: Mapping[str, Any]) -> str:
    shown = [
        f"{topic}:{','.join(map(str, indexes))}" for topic, indexes in sorted(partitions.items()) if indexes
    ]
    return " ".join(shown) or "nothing"
