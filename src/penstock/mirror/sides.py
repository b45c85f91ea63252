"""One of the two clusters of a flow: asked, and written to. Everything here blocks."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from penstock.client.api.admin.client import Admin
from penstock.client.api.admin.configs import ConfigEntry, ConfigResource
from penstock.client.api.admin.topics import NewTopic
from penstock.client.api.exceptions import KafkaException
from penstock.mirror.checkpoints import GroupOffsets
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record, decode_batch
from penstock.security.client_settings import ClientSettings
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Refused
from penstock.wire.fetch import FetchOptions, fetch
from penstock.wire.pack import pack_records
from penstock.wire.produce import Producer

log = logging.getLogger(__name__)

SECONDS: Final = 60.0
TIME_BYTES: Final = 64 * 1024
COMPACTED: Final = {"cleanup.policy": "compact"}

OFFSETS_TOPIC: Final = "__consumer_offsets"

KeyValue = tuple[bytes | None, bytes | None]


class GroupNames(NamedTuple):
    """The groups of a cluster as two listings have them."""

    names: tuple[str, ...]
    doubts: tuple[str, ...]
    """Why groups may be missing; empty where the cluster gives no reason to doubt."""


class Side:
    """A cluster by its alias. Several threads may use it."""

    def __init__(self, alias: str, client: ClientSettings, admin_texts: Mapping[str, str]) -> None:
        self.alias = alias
        self.client = client
        self.cluster = Cluster.of(client)
        self.admin = Admin(dict(admin_texts))
        self._sending = threading.Lock()
        self._producer: Producer | None = None

    def close(self) -> None:
        self.admin.close()
        self.cluster.close()

    def partitions(self) -> dict[str, int]:
        """How many partitions each topic has; internal topics of the broker are left out."""
        found = self.cluster.topics(None, Deadline(SECONDS))
        return {name: len(topic.partitions) for name, topic in found.items() if not topic.internal}

    def configs(self, topics: Sequence[str]) -> dict[str, list[ConfigEntry]]:
        if not topics:
            return {}
        wanted = [ConfigResource("TOPIC", name) for name in topics]
        found = self.admin.describe_configs(wanted, timeout=SECONDS).values()
        told: dict[str, list[ConfigEntry]] = {}
        for resource, future in found.items():
            try:
                told[resource.name] = list(future.result(SECONDS).values())
            except KafkaException as error:  # deleted since it was listed
                log.warning(
                    "the configuration of %s on %s is not known: %s", resource.name, self.alias, error
                )
        return told

    def ensure_compacted(self, topic: str, partitions: int, replication: int) -> None:
        """Create an internal topic, unless it is there. With fewer brokers than replicas it gets as many
        replicas as there are brokers: a mirror that cannot note its progress is worth less."""
        if topic in self.cluster.topics([topic], Deadline(SECONDS)):
            return
        brokers = len(self.cluster.brokers(Deadline(SECONDS)))
        if brokers < replication:
            log.warning("%s on %s gets %d replicas, not %d", topic, self.alias, brokers, replication)
        wanted = NewTopic(topic, partitions, min(replication, brokers), configs=COMPACTED)
        try:
            self.admin.create_topics([wanted], timeout=SECONDS).result(SECONDS)
        except KafkaException as error:
            if type(error).__name__ != "TopicExistsException":
                raise
        self.wait_for(topic, partitions)

    def wait_for(self, topic: str, partitions: int) -> None:
        """Until the cluster's metadata shows the topic: that comes a moment after its creation."""
        deadline, attempt = Deadline(SECONDS), 0
        while not deadline.passed:
            found = self.cluster.topics([topic], deadline).get(topic)
            if found is not None and len(found.partitions) >= partitions:
                return
            deadline.pause(attempt)
            attempt += 1
        raise TimeoutError(f"{topic} was created on {self.alias} and is not in its metadata")

    def send(self, topic: str, records: Iterable[KeyValue], partition: int = 0) -> None:
        """Write records of an internal topic; they are acknowledged on return."""
        now_ms = time.time_ns() // 1_000_000
        made = [Record(key, value, (), now_ms) for key, value in records]
        if not made:
            return
        with self._sending:
            # A new producer each time would leave its state on the broker each time.
            producer, self._producer = self._producer or Producer(self.cluster), None
            producer.send(TopicPartition(topic, partition), pack_records(made))
            producer.flush()
            self._producer = producer

    def groups(self) -> list[str]:
        listed = self.admin.list_consumer_groups(timeout=SECONDS).all().result(SECONDS)
        return [each.group_id for each in listed]

    def all_groups(self) -> GroupNames:
        """Every group, for decisions that must miss none. Brokers list the groups of the coordinators that
        they run now and say nothing of others. So the coordinators' partitions are looked at, too, and the
        groups are listed twice."""
        before, first = self._coordinators(), set(self.groups())
        second, after = set(self.groups()), self._coordinators()
        doubts = []
        lost = sorted(number for number, (leader, _) in after.items() if leader < 0)
        if lost:
            shown = ", ".join(map(str, lost[:10])) + (", …" if len(lost) > 10 else "")
            doubts.append(f"partitions {shown} of {OFFSETS_TOPIC} have no leader: their groups are not known")
        elif before != after:
            doubts.append(f"coordinators of groups have moved while groups were listed: {self.alias} is busy")
        if differing := sorted(first ^ second):
            doubts.append(f"these groups were in one of two listings: {', '.join(differing[:10])}")
        return GroupNames(tuple(sorted(first | second)), tuple(doubts))

    def _coordinators(self) -> dict[int, tuple[int, int]]:
        """Leader and epoch of each partition in which groups are kept; empty where the topic is not there, or
        not for us to see."""
        try:
            found = self.cluster.topics([OFFSETS_TOPIC], Deadline(SECONDS)).get(OFFSETS_TOPIC)
        except Refused:
            return {}
        return {n: (each.leader, each.leader_epoch) for n, each in found.partitions.items()} if found else {}

    def group_state(self, group: str) -> str:
        """`Empty`, `Dead` when there is none, or what else the group is in."""
        try:
            found = self.admin.describe_consumer_groups([group], timeout=SECONDS).result(SECONDS)
        except KafkaException as error:
            if type(error).__name__ == "GroupIdNotFoundException":
                return "Dead"
            raise
        return found[group].group_state

    def group_offsets(self, group: str) -> GroupOffsets:
        found = self.admin.list_consumer_group_offsets(group, timeout=SECONDS).result(SECONDS)
        return {place: (each.offset, each.metadata or "") for place, each in found[group].items()}

    def commit_group(self, group: str, wanted: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """For a group without members; KafkaException when it has some."""
        from penstock.client.api.records import OffsetAndMetadata

        texts = {place: OffsetAndMetadata(offset, metadata) for place, (offset, metadata) in wanted.items()}
        self.admin.alter_consumer_group_offsets(group, texts, timeout=SECONDS).result(SECONDS)

    def ends(
        self, places: Iterable[TopicPartition], *, read_committed: bool = True
    ) -> dict[TopicPartition, int]:
        wanted = list(places)
        if not wanted:
            return {}
        return offsets.latest(self.cluster, wanted, Deadline(SECONDS), read_committed=read_committed)

    def starts(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        wanted = list(places)
        return offsets.earliest(self.cluster, wanted, Deadline(SECONDS)) if wanted else {}

    def time_of(self, place: TopicPartition, start: int, end: int, *, read_committed: bool) -> int | None:
        """The time in ms of the first record from `start` on; None when there is none before `end`."""
        options = FetchOptions(TIME_BYTES, read_committed=read_committed)
        for batch in fetch(self.cluster, place, start, end, options):
            for record in decode_batch(batch.data):
                if start <= record.offset < end:
                    return record.timestamp_ms
        return None


class Tail:
    """A topic read from its start, and then what is new each time."""

    def __init__(self, side: Side, topic: str) -> None:
        self._side = side
        self._topic = topic
        self._next: dict[TopicPartition, int] = {}

    def poll(self) -> list[KeyValue]:
        """Everything since the last time, committed records only; nothing while there is no such topic."""
        found = self._side.cluster.topics([self._topic], Deadline(SECONDS)).get(self._topic)
        if found is None:
            return []
        places = [TopicPartition(self._topic, number) for number in sorted(found.partitions)]
        new = [place for place in places if place not in self._next]
        self._next |= self._side.starts(new)
        told: list[KeyValue] = []
        for place, end in sorted(self._side.ends(places).items()):
            if end < self._next[place]:  # deleted and created anew
                self._next[place] = 0
            options = FetchOptions(read_committed=True)
            for batch in fetch(self._side.cluster, place, self._next[place], end, options):
                records = decode_batch(batch.data)
                told += [(each.key, each.value) for each in records if self._next[place] <= each.offset < end]
            self._next[place] = end
        return told
