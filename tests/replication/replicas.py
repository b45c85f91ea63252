"""Three replicas of one partition in one process, and the controller's part played by hand: who leads, who
is in sync. Followers fetch when the test says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.replication.following import EpochEnd, Position
from penstock.replication.partition import Partition
from penstock.replication.replica import Fetched
from penstock.replication.surroundings import Surroundings
from penstock.replication.throttle import ReplicationThrottle
from penstock.storage.outcomes import Appended
from tests.storage.builders import StillClock, batch, open_log, settings, sim_disk, values

TOPIC_ID = bytes(15) + b"\x07"
LAG_SECONDS = 30.0
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class State:
    """What the metadata says of the partition."""

    replicas: tuple[int, ...] = (1, 2, 3)
    isr: tuple[int, ...] = (1, 2, 3)
    leader: int = 1
    leader_epoch: int = 0
    partition_epoch: int = 0


class Replicas:
    """`lead` elects; `fetch` lets a follower ask once; `alter_partition` grants what the leader wants."""

    def __init__(self, *nodes: int, min_isr: int = 1, **more: Any) -> None:
        self.clock = StillClock()
        self.settings = settings(min_insync_replicas=min_isr, **more)
        self.throttled_rate = float("inf")
        self.broker_epochs = dict.fromkeys(nodes or (1, 2, 3), 100)
        self.fenced: set[int] = set()
        self.asked: list[Partition] = []
        self.disk = sim_disk()
        self.state = State(replicas=tuple(self.broker_epochs), isr=tuple(self.broker_epochs))
        self.partitions = {node: self.open(node) for node in self.broker_epochs}
        self.tell(*self.broker_epochs)

    def open(self, node: int) -> Partition:
        log = open_log(self.disk, self.clock, path=f"/{node}/topic-0", settings=self.settings)
        log.high_watermark = 0
        around = Surroundings(
            node,
            self.clock,
            lambda: LAG_SECONDS,
            self._may_join,
            self.asked.append,
            ReplicationThrottle(self.clock, lambda: self.throttled_rate),
            ReplicationThrottle(self.clock, lambda: self.throttled_rate),
        )
        return Partition("topic", TOPIC_ID, 0, log, around)

    def _may_join(self, node: int, epoch: int) -> bool:
        return node not in self.fenced and self.broker_epochs[node] == epoch

    def __getitem__(self, node: int) -> Partition:
        return self.partitions[node]

    @property
    def leader(self) -> Partition:
        return self.partitions[self.state.leader]

    def tell(self, *nodes: int) -> None:
        """Let these brokers hear of the present state."""
        for node in nodes:
            self.partitions[node].assume(self.state)

    def lead(self, node: int, isr: tuple[int, ...], heard_by: tuple[int, ...] | None = None) -> None:
        """Elect `node` in the next epoch."""
        self.state = replace(
            self.state,
            leader=node,
            isr=isr,
            leader_epoch=self.state.leader_epoch + 1,
            partition_epoch=self.state.partition_epoch + 1,
        )
        self.tell(*(self.partitions if heard_by is None else heard_by))

    def append(self, *records: bytes, to_all: bool = True) -> Appended:
        return self.leader.append(batch(*records), to_all=to_all)

    def ask(self, node: int, position: Position | None = None) -> Fetched:
        """What the leader answers to `node`."""
        wanted = position or self.partitions[node].position()
        assert wanted is not None
        epoch = self.broker_epochs[node]
        return self.leader.fetch_for_replica(node, epoch, wanted, MAX_BYTES, at_least_one=True)

    def fetch(self, *nodes: int) -> None:
        """Let followers fetch once, and do what the answer says."""
        for node in nodes:
            follower = self.partitions[node]
            position = follower.position()
            assert position is not None, f"{node} does not follow"
            fetched = self.ask(node, position)
            if fetched.diverging is not None:
                follower.truncate_to_leader(position, EpochEnd(*fetched.diverging))
                continue
            records = b"" if fetched.records is None else fetched.records.read()
            data = memoryview(bytearray(records))
            follower.take(position, data, fetched.high_watermark, fetched.log_start_offset)

    def catch_up(self, *nodes: int, rounds: int = 8) -> None:
        """As often as it takes to have everything and to know that it is committed."""
        for _ in range(rounds):
            self.fetch(*nodes)

    def alter_partition(self) -> None:
        """Play the controller: grant what the leader wants, and tell everybody."""
        wanted = self.leader.wanted_isr()
        assert wanted is not None, "the leader wants nothing"
        self.state = replace(
            self.state, isr=tuple(sorted(wanted.members)), partition_epoch=self.state.partition_epoch + 1
        )
        self.tell(*self.partitions)

    def crash(self, node: int, *, keep_log: bool = True) -> None:
        """The broker comes back in another life, with what it had written, or with nothing."""
        self.broker_epochs[node] += 1
        high_watermark = self.partitions[node].high_watermark
        if not keep_log:
            self.disk.remove_tree(f"/{node}")
        self.partitions[node] = self.open(node)
        log = self.partitions[node].log
        log.high_watermark = min(high_watermark, log.log_end_offset)

    def high_watermarks(self) -> dict[int, int]:
        return {node: partition.high_watermark for node, partition in self.partitions.items()}

    def values(self, node: int) -> list[bytes | None]:
        return values(self.partitions[node].log)
