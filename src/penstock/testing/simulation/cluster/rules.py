"""What must hold in a cluster after every step, whoever is dead, stopped or cut off. Looks into every log,
and remembers all that any leader ever called committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

from penstock.controller.image import Image
from penstock.handlers.broker import Broker
from penstock.records.batch import iter_headers
from penstock.replication.partition import Partition

READ_BYTES = 1 << 20


class Broken(AssertionError):
    """A promise of the cluster does not hold."""


class Entry(NamedTuple):
    """A batch in somebody's log."""

    base_offset: int
    next_offset: int
    epoch: int
    checksum: int


@dataclass(slots=True)
class _Replica:
    """What was last seen of one replica in one life of its broker."""

    partition: Partition
    seen: tuple[object, ...] = ()
    entries: list[Entry] = field(default_factory=list)
    high_watermark: int = 0


@dataclass(slots=True)
class _Known:
    """What is known of a partition, from all of its replicas together."""

    committed: list[Entry] = field(default_factory=list)
    """Below a leader's high watermark, at any time; from offset 0 on without a gap."""
    leaders: dict[int, int] = field(default_factory=dict)
    written: dict[tuple[int, int], tuple[Entry, int]] = field(default_factory=dict)
    """Each (offset, epoch) is one batch, after one and the same predecessor."""

    @property
    def end(self) -> int:
        return self.committed[-1].next_offset if self.committed else 0


Place = tuple[str, int]


class ClusterRules:
    """`look` after every step at every broker that lives."""

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics = frozenset(topics)
        self._known: dict[Place, _Known] = {}
        self._replicas: dict[int, dict[Place, _Replica]] = {}
        self._images: dict[int, Image] = {}
        self._followed: dict[int, int] = {}
        self._news = False  # something has changed since the members of ISRs were looked at
        self.leaderships = 0
        """Leader epochs in which somebody led."""
        self.last_leader = -1

    def died(self, node: int) -> None:
        """Whatever it has is read anew when it lives again."""
        self._replicas.pop(node, None)
        self._followed.pop(node, None)

    def committed_end(self, place: Place) -> int:
        return self._known[place].end if place in self._known else 0

    def look(self, node: int, broker: Broker) -> None:
        self._same_image(node, broker.controller.image, broker.controller.last_offset)
        replicas = self._replicas.setdefault(node, {})
        for partition in broker.partitions:
            if partition.topic not in self._topics:
                continue
            place = (partition.topic, partition.index)
            replica = replicas.get(place)
            if replica is None or replica.partition is not partition:
                replica = replicas[place] = _Replica(partition)
            log = partition.log
            seen = (partition.leads, partition.leader_epoch, log.high_watermark, log.log_end_offset)
            if seen != replica.seen:
                replica.seen, self._news = seen, True
                self._changed(node, place, replica)

    def _changed(self, node: int, place: Place, replica: _Replica) -> None:
        known = self._known.setdefault(place, _Known())
        self._logs_match(node, place, known, replica)
        partition = replica.partition
        if partition.high_watermark < replica.high_watermark:
            raise Broken(
                f"{partition} on {node}: the high watermark goes back from {replica.high_watermark} to "
                f"{partition.high_watermark}"
            )
        replica.high_watermark = partition.high_watermark
        if partition.leads:
            self._one_leader(node, known, replica)
        self._committed_stays(node, known, replica)

    def _one_leader(self, node: int, known: _Known, replica: _Replica) -> None:
        partition = replica.partition
        if partition.leader_epoch not in known.leaders:
            self.leaderships += 1
            self.last_leader = node
        first = known.leaders.setdefault(partition.leader_epoch, node)
        if first != node:
            raise Broken(f"{partition}: {first} and {node} lead in epoch {partition.leader_epoch}")
        if partition.leader_epoch == max(known.leaders) and partition.log.log_end_offset < known.end:
            raise Broken(
                f"{partition}: {node} leads epoch {partition.leader_epoch} with a log that ends at "
                f"{partition.log.log_end_offset}, and {known.end} is committed"
            )

    def _logs_match(self, node: int, place: Place, known: _Known, replica: _Replica) -> None:
        """By induction two logs agree on everything before a batch that both have."""
        entries, log = replica.entries, replica.partition.log
        end = log.log_end_offset
        while entries and entries[-1].next_offset > end:
            entries.pop()
        offset = entries[-1].next_offset if entries else log.log_start_offset
        while offset < end and (found := log.read(offset, READ_BYTES)) is not None:
            data = found.read()
            for position, header in iter_headers(memoryview(data)):
                # The offset and the epoch are the leader's to set, and stand outside the checksum.
                checksum = crc32(data[position : position + header.size_bytes])
                entry = Entry(header.base_offset, header.next_offset, header.leader_epoch, checksum)
                before = entries[-1].epoch if entries else -1
                first = known.written.setdefault((entry.base_offset, entry.epoch), (entry, before))
                if first != (entry, before):
                    raise Broken(f"{place} on {node}: {entry} stands after {before}, elsewhere {first}")
                entries.append(entry)
                offset = entry.next_offset

    def _committed_stays(self, node: int, known: _Known, replica: _Replica) -> None:
        """Everybody has the same below its high watermark; a leader's says what is committed."""
        partition, high_watermark = replica.partition, replica.high_watermark
        for index, entry in enumerate(replica.entries):
            if entry.next_offset > high_watermark:
                break
            if index < len(known.committed):
                if known.committed[index] != entry:
                    raise Broken(
                        f"{partition} on {node}: {entry} stands where {known.committed[index]} was committed"
                    )
            elif partition.leads:
                known.committed.append(entry)
            else:
                raise Broken(
                    f"{partition} on {node}: a follower calls {entry} committed, and no leader ever did"
                )

    def check_in_sync(self, living: Mapping[int, Broker]) -> None:
        """Members of an ISR, by the newest image that anybody ever had, have everything that is committed:
        who made that image may be dead, and a leader have its ISR from there. One that was started and has
        not registered yet may have lost what it had."""
        if not self._news or not self._images:
            return
        self._news = False
        image = self._images[max(self._images)]
        lives = {node: broker.broker_epoch for node, broker in living.items()}
        for place, known in self._known.items():
            topic = image.topics.get(place[0])
            if topic is None:
                continue
            for node in topic.partitions[place[1]].isr:
                replica = self._replicas.get(node, {}).get(place)
                if replica is None or node not in lives or lives[node] != image.brokers[node].broker_epoch:
                    continue
                end = replica.partition.log.log_end_offset
                if end < known.end:
                    raise Broken(
                        f"{replica.partition} on {node}: in sync, and the log ends at {end} though "
                        f"{known.end} is committed"
                    )

    def _same_image(self, node: int, image: Image, offset: int) -> None:
        """Whoever has followed the same log has the same image."""
        if self._followed.get(node) == offset:
            return
        self._followed[node], self._news = offset, True
        first = self._images.setdefault(offset, image)
        if first is not image and first != image:
            raise Broken(f"node {node}: the image at offset {offset} is not that of the others")
