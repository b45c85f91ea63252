"""The part of the fake backend that knows groups, brokers and transactions. `fake_backend` builds on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.client.admin import Partition
from penstock.client.configs import Owner
from penstock.client.errors import GroupNotFound, InvalidValue, TopicNotFound
from penstock.client.metadata import ConfigEntry, GroupInfo, GroupMember, PartitionInfo, TopicInfo
from penstock.client.paging import Message
from penstock.client.targets import Places, Target
from penstock.console.cluster_values import (
    Disks,
    GroupsNow,
    HangingTransaction,
    LogDirectory,
    Move,
    Quorum,
    QuorumReplica,
    TransactionState,
)


@dataclass(slots=True)
class FakeTopic:
    name: str
    logs: list[list[Message]]
    configs: dict[str, str] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    isr: tuple[int, ...] = (1,)
    leader: int | None = 1

    def info(self) -> TopicInfo:
        return TopicInfo(
            self.name,
            tuple(
                PartitionInfo(p, self.leader, (1,), self.isr, self.starts.get(p, 0), len(log))
                for p, log in enumerate(self.logs)
            ),
        )


TOPIC_DEFAULTS = {"cleanup.policy": "delete", "retention.ms": "604800000", "max.message.bytes": "1048588"}
BROKER_DEFAULTS = {"log.retention.hours": "168", "message.max.bytes": "1048588", "node.id": "1"}


class FakeOperations:
    _topics: dict[str, FakeTopic]

    def __init__(self) -> None:
        self._groups: dict[str, dict[Partition, int]] = {}
        self._members: dict[str, int] = {}
        self._broker_configs: dict[str, str] = {}
        self.hanging: list[HangingTransaction] = []
        self.open_transactions: list[TransactionState] = []
        self.usable_bytes = 700

    def _asking(self, what: str) -> None:
        raise NotImplementedError

    def _find(self, name: str) -> FakeTopic:
        if name not in self._topics:
            raise TopicNotFound(name)
        return self._topics[name]

    # -- what tests arrange

    def commit(self, group_id: str, topic: str, partition: int, offset: int) -> None:
        self._groups.setdefault(group_id, {})[topic, partition] = offset

    def join(self, group_id: str, members: int = 1) -> None:
        self._groups.setdefault(group_id, {})
        self._members[group_id] = members

    def lose_replicas(self, topic: str, *, leader: int | None = 1) -> None:
        self._topics[topic].isr, self._topics[topic].leader = (), leader

    def restore_replicas(self, topic: str) -> None:
        self._topics[topic].isr, self._topics[topic].leader = (1,), 1

    # -- what the console asks

    async def add_partitions(self, name: str, total: int) -> None:
        self._asking("add_partitions")
        topic = self._find(name)
        if total <= len(topic.logs):
            raise InvalidValue(f"Topic {name!r} has {len(topic.logs)} partitions. Ask for more.")
        topic.logs.extend([] for _ in range(total - len(topic.logs)))

    async def empty_topic(self, name: str) -> int:
        self._asking("empty_topic")
        topic = self._find(name)
        deleted = sum(len(log) - topic.starts.get(p, 0) for p, log in enumerate(topic.logs))
        topic.starts = {p: len(log) for p, log in enumerate(topic.logs)}
        return deleted

    async def configs(self, owner: Owner) -> list[ConfigEntry]:
        self._asking("configs")
        own, defaults = self._configs(owner)
        source = "DYNAMIC_TOPIC_CONFIG" if owner.kind == "TOPIC" else "DYNAMIC_BROKER_CONFIG"
        return [
            ConfigEntry(
                name,
                value,
                name not in own,
                False,
                source if name in own else "DEFAULT_CONFIG",
                name == "node.id",
            )
            for name, value in sorted((defaults | own).items())
        ]

    async def alter_configs(self, owner: Owner, changes: Mapping[str, str | None]) -> None:
        self._asking("alter_configs")
        own, defaults = self._configs(owner)
        for name, value in changes.items():
            if name not in defaults:
                raise InvalidValue(f"There is no setting {name}. Check its spelling.")
            if value is None:
                own.pop(name, None)
            else:
                own[name] = value

    def _configs(self, owner: Owner) -> tuple[dict[str, str], dict[str, str]]:
        if owner.kind == "TOPIC":
            return self._find(owner.name).configs, TOPIC_DEFAULTS
        return self._broker_configs, BROKER_DEFAULTS

    async def disks(self) -> Disks:
        self._asking("disks")
        sizes = {
            (name, p): 100 * len(log) for name, t in self._topics.items() for p, log in enumerate(t.logs)
        }
        total = sum(sizes.values())
        return Disks((LogDirectory(1, "/data", total, len(sizes), 1000, self.usable_bytes),), sizes)

    async def quorum(self) -> Quorum:
        self._asking("quorum")
        return Quorum(1, 3, 40, (QuorumReplica(1, True, 40, 0, None),))

    async def groups(self) -> GroupsNow:
        self._asking("groups")
        infos = tuple(
            GroupInfo(name, "STABLE" if self._members.get(name) else "EMPTY", "CLASSIC", False, "range", 1,
                      tuple(GroupMember(f"{name}-{i}", None, "client", "/127.0.0.1", ())
                            for i in range(self._members.get(name, 0))))
            for name in sorted(self._groups)
        )  # fmt: skip
        read = {at for offsets in self._groups.values() for at in offsets if at[0] in self._topics}
        ends = {(topic, p): len(self._topics[topic].logs[p]) for topic, p in read}
        return GroupsNow(infos, {name: dict(each) for name, each in self._groups.items()}, ends)

    async def reset_plan(self, group_id: str, topics: tuple[str, ...], target: Target) -> list[Move]:
        self._asking("reset_plan")
        committed = self._groups.get(group_id, {})
        names = topics or tuple(sorted({topic for topic, _ in committed}))
        first = {(n, p): 0 for n in names for p in range(len(self._find(n).logs))}
        end = {(n, p): len(self._topics[n].logs[p]) for n, p in first}
        wanted = target.offsets(Places(first, end, committed, {}))
        return [Move(n, p, committed.get((n, p)), offset, end[n, p]) for (n, p), offset in wanted.items()]

    async def reset_group(self, group_id: str, moves: list[Move]) -> None:
        self._asking("reset_group")
        if self._members.get(group_id):
            raise InvalidValue(f"Group {group_id!r} has members. Stop its consumers first.")
        for move in moves:
            self.commit(group_id, move.topic, move.partition, move.wanted)

    async def delete_group(self, group_id: str) -> None:
        self._asking("delete_group")
        if group_id not in self._groups:
            raise GroupNotFound(group_id)
        del self._groups[group_id]

    async def transactions(self) -> list[TransactionState]:
        self._asking("transactions")
        return list(self.open_transactions)

    async def hanging_transactions(self, older_than_ms: int) -> list[HangingTransaction]:
        self._asking("hanging_transactions")
        return list(self.hanging)

    async def abort_transaction(self, transaction: HangingTransaction) -> None:
        self._asking("abort_transaction")
        self.hanging.remove(transaction)
