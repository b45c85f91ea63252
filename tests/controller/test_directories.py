"""What the controller makes of log directories: told, failed, back, replaced (KIP-858)."""

from __future__ import annotations

import pytest

from penstock.controller.alter_partition import WantedIsr, decide_alter_partition
from penstock.controller.broker_records import Endpoint
from penstock.controller.brokers import Heartbeat, Registration, decide_heartbeat, decide_register
from penstock.controller.directories import decide_assign
from penstock.controller.directory_ids import LOST, MIGRATING, UNASSIGNED, is_online, is_reserved
from penstock.controller.image import Image, PartitionState, replay
from penstock.controller.image_records import records_of
from penstock.controller.leader_elections import ElectionType, decide_election
from penstock.controller.metadata_records import NO_LEADER, MetadataRecord, decode, encode
from penstock.controller.partition_changes import Rules
from penstock.controller.reassignments import decide_reassign
from penstock.controller.topics import Defaults, NewTopic, decide_create
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.settings import TopicSettings

CLUSTER = "a-cluster"
TOPIC_ID = b"t" * 16
RULES = Rules(min_isr=2, unclean=False)


def disk(broker: int, letter: str) -> bytes:
    return bytes([broker]) + letter.encode() * 15


class Cluster:
    """Brokers 1, 2 and 3 with the directories a and b each, and topics whose partitions are all on them."""

    def __init__(self, *, letters: str = "ab") -> None:
        self.image, self.offset, self.epochs, self.lives = Image(), 10, dict[int, int](), 0
        for broker in (1, 2, 3):
            self.register(broker, letters)
            self.beat(broker)

    def take(self, records: list[MetadataRecord]) -> list[MetadataRecord]:
        assert [decode(encode(record)) for record in records] == records
        self.image = replay(self.image, records)
        self.offset += len(records)
        assert replay(Image(), records_of(self.image)) == self.image
        return records

    def register(self, broker: int, letters: str, *, clean: bool = False) -> None:
        self.lives += 1
        wish = Registration(
            broker,
            CLUSTER,
            self.lives.to_bytes(16, "big"),
            (Endpoint("PLAINTEXT", "h", 9092),),
            previous_broker_epoch=self.epochs.get(broker, -1) if clean else -1,
            directories=tuple(disk(broker, letter) for letter in letters),
        )
        records, epoch = decide_register(
            self.image, wish, CLUSTER, self.offset, lambda _: RULES, is_live=False
        )
        self.take(records)
        self.epochs[broker] = epoch

    def beat(self, broker: int, *, offline: str = "") -> list[MetadataRecord]:
        failed = frozenset(disk(broker, letter) for letter in offline)
        beat = Heartbeat(broker, self.epochs[broker], self.offset, offline_directories=failed)
        records, _ = decide_heartbeat(self.image, beat, lambda _: RULES)
        return self.take(records)

    def stop(self, broker: int) -> None:
        beat = Heartbeat(broker, self.epochs[broker], self.offset, wants_fence=True)
        self.take(decide_heartbeat(self.image, beat, lambda _: RULES)[0])

    def create(self, replicas: tuple[int, ...] = (1, 2, 3), partitions: int = 1) -> None:
        wish = NewTopic("t", assignments=dict.fromkeys(range(partitions), replicas))
        self.take(decide_create(self.image, wish, Defaults(1, 3, TopicSettings()), TOPIC_ID))

    def assign(self, broker: int, directory: bytes, index: int = 0) -> list[MetadataRecord]:
        return self.take(decide_assign(self.image, broker, TOPIC_ID, index, directory, lambda _: RULES))

    def place_all(self, letter: str, index: int = 0) -> None:
        for broker in self.partition(index).replicas:
            self.assign(broker, disk(broker, letter), index)

    def partition(self, index: int = 0) -> PartitionState:
        return self.image.topics["t"].partitions[index]


def test_the_reserved_ids_are_kafkas() -> None:
    assert [MIGRATING[15], UNASSIGNED[15], LOST[15]] == [0, 1, 2]
    assert is_reserved(bytes(15) + b"\x63")
    assert not is_reserved(bytes(15) + b"\x64")


@pytest.mark.parametrize(
    ("directory", "online", "expected"),
    [
        (MIGRATING, (b"x" * 16,), True),
        (UNASSIGNED, (b"x" * 16,), True),
        (LOST, (), False),
        (b"x" * 16, (b"x" * 16,), True),
        (b"y" * 16, (b"x" * 16,), False),
        (b"y" * 16, (), True),
    ],
)
def test_a_directory_is_online_when_nothing_speaks_against_it(
    directory: bytes, online: tuple[bytes, ...], expected: bool
) -> None:
    assert is_online(directory, online) is expected


def test_a_new_replica_is_in_the_only_directory_of_its_broker_or_waits_to_be_told() -> None:
    one, several = Cluster(letters="a"), Cluster()
    one.create()
    several.create()
    assert one.partition().directories == (disk(1, "a"), disk(2, "a"), disk(3, "a"))
    assert several.partition().directories == (UNASSIGNED,) * 3


def test_a_broker_tells_where_its_replica_is_and_nothing_else_changes() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.assign(2, disk(2, "b"))
    state = cluster.partition()
    assert state.directories == (UNASSIGNED, disk(2, "b"), UNASSIGNED)
    assert (state.leader, state.isr, state.leader_epoch, state.partition_epoch) == (1, (1, 2, 3), 0, 1)
    assert cluster.assign(2, disk(2, "b")) == []


def test_replicas_in_a_failed_directory_leave_the_isr_and_lead_no_more_and_the_others_stay() -> None:
    cluster = Cluster()
    cluster.create(partitions=2)
    cluster.place_all("a", 0)
    cluster.place_all("b", 1)
    cluster.beat(1, offline="b")
    assert (cluster.partition(0).leader, cluster.partition(0).isr) == (1, (1, 2, 3))
    assert (cluster.partition(1).leader, cluster.partition(1).isr) == (2, (2, 3))
    assert cluster.partition(1).leader_epoch == 1
    assert cluster.image.brokers[1].directories == (disk(1, "a"),)
    assert cluster.image.brokers[1].is_active


def test_a_failure_that_is_known_is_told_again_without_a_change() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.place_all("b")
    assert cluster.beat(1, offline="b")
    assert cluster.beat(1, offline="b") == []


def test_a_broker_without_any_directory_is_fenced_and_stays_so() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.place_all("a")
    cluster.beat(1, offline="ab")
    assert cluster.image.brokers[1].fenced
    assert cluster.partition().leader == 2
    assert cluster.beat(1, offline="ab") == []


def test_a_replica_whose_directory_failed_before_it_was_told_of_leaves_when_it_is() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.beat(1, offline="b")
    assert cluster.partition().leader == 1
    cluster.assign(1, disk(1, "b"))
    assert (cluster.partition().leader, cluster.partition().isr) == (2, (2, 3))


def test_a_replica_that_its_broker_cannot_find_is_lost_until_it_is_found() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.assign(1, LOST)
    assert cluster.partition().isr == (2, 3)
    cluster.assign(1, disk(1, "a"))
    assert join(cluster, (1, 2, 3)).isr == (1, 2, 3)


def join(cluster: Cluster, isr: tuple[int, ...]) -> PartitionState:
    state = cluster.partition()
    members = tuple((node, cluster.epochs[node]) for node in isr)
    wanted = WantedIsr(TOPIC_ID, 0, state.leader_epoch, state.partition_epoch, members)
    cluster.take(decide_alter_partition(cluster.image, state.leader, wanted, RULES))
    return cluster.partition()


def test_nobody_joins_an_isr_from_a_failed_directory() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.place_all("b")
    cluster.beat(1, offline="b")
    with pytest.raises(KafkaError) as refused:
        join(cluster, (1, 2, 3))
    assert refused.value.code is ErrorCode.INELIGIBLE_REPLICA


def test_no_election_takes_a_replica_in_a_failed_directory_not_even_an_unclean_one() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.place_all("b")
    cluster.beat(1, offline="b")
    with pytest.raises(KafkaError) as refused:
        decide_election(cluster.image, "t", 0, ElectionType.PREFERRED, RULES)
    assert refused.value.code is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    cluster.stop(2)
    cluster.stop(3)
    assert cluster.partition().leader == NO_LEADER
    with pytest.raises(KafkaError) as unclean:
        decide_election(cluster.image, "t", 0, ElectionType.UNCLEAN, RULES)
    assert unclean.value.code is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def test_after_a_restart_with_the_disk_repaired_the_replica_may_join_again() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.place_all("b")
    cluster.beat(1, offline="b")
    cluster.stop(1)
    cluster.register(1, "ab")
    cluster.beat(1)
    assert join(cluster, (1, 2, 3)).isr == (1, 2, 3)


def test_the_only_replica_waits_for_its_disk_over_restarts_without_it() -> None:
    cluster = Cluster()
    cluster.create(replicas=(1,))
    cluster.place_all("b")
    cluster.beat(1, offline="b")
    assert cluster.partition().leader == NO_LEADER
    for letters in ("a", "a", "ab"):
        assert cluster.partition().leader == NO_LEADER
        cluster.stop(1)
        cluster.register(1, letters)
        cluster.beat(1)
    assert (cluster.partition().leader, cluster.partition().isr) == (1, (1,))


def test_a_replica_on_a_replaced_disk_is_not_the_last_leader_any_more() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.place_all("b")
    for broker in (3, 2, 1):
        cluster.stop(broker)
    cluster.register(1, "ac")  # the disk is another
    cluster.beat(1)
    cluster.assign(1, disk(1, "c"))
    assert cluster.partition().leader == NO_LEADER
    cluster.register(2, "ab")
    cluster.beat(2)
    assert cluster.partition().leader == 2


def test_a_replica_that_was_moved_by_hand_after_a_clean_stop_leads_as_before() -> None:
    cluster = Cluster()
    cluster.create(replicas=(1,))
    cluster.place_all("b")
    cluster.stop(1)
    cluster.register(1, "a", clean=True)
    cluster.beat(1)
    assert cluster.partition().leader == NO_LEADER
    cluster.assign(1, disk(1, "a"))
    assert cluster.partition().leader == 1


def test_a_reassignment_keeps_the_directories_of_those_who_stay() -> None:
    cluster = Cluster()
    cluster.create(replicas=(1, 2))
    cluster.place_all("b")
    cluster.take(decide_reassign(cluster.image, cluster.image.topics["t"], 0, (2, 3), RULES))
    assert cluster.partition().places == {1: disk(1, "b"), 2: disk(2, "b"), 3: UNASSIGNED}
    state = join(cluster, (1, 2, 3))
    assert state.places == {2: disk(2, "b"), 3: UNASSIGNED}


@pytest.mark.parametrize(
    ("broker", "topic_id", "index", "code"),
    [
        (1, b"?" * 16, 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (1, TOPIC_ID, 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (3, TOPIC_ID, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_a_replica_that_is_not_there_is_in_no_directory(
    broker: int, topic_id: bytes, index: int, code: ErrorCode
) -> None:
    cluster = Cluster()
    cluster.create(replicas=(1, 2))
    with pytest.raises(KafkaError) as refused:
        decide_assign(cluster.image, broker, topic_id, index, disk(broker, "a"), lambda _: RULES)
    assert refused.value.code is code
