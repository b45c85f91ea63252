"""Replicas move to other brokers, or do not after all; elections that somebody asks for."""

from __future__ import annotations

import pytest

from penstock.controller.broker_records import RegisterBrokerRecord
from penstock.controller.image import Image, PartitionState, replay
from penstock.controller.leader_elections import ElectionType, decide_election
from penstock.controller.metadata_records import MetadataRecord, PartitionRecord, TopicRecord, decode, encode
from penstock.controller.partition_changes import Rules, decide_change
from penstock.controller.reassignments import decide_reassign
from penstock.protocol.errors import ErrorCode, KafkaError

TOPIC = b"t" * 16
RULES = Rules(min_isr=2, unclean=False)


class Cluster:
    """Five brokers and one partition on the first three."""

    def __init__(self, *isr: int, fenced: tuple[int, ...] = ()) -> None:
        brokers = [
            RegisterBrokerRecord(node, bytes([node]) * 16, node, (), None, fenced=node in fenced)
            for node in range(1, 6)
        ]
        leader = isr[0] if isr else -1
        partition = PartitionRecord(0, TOPIC, (1, 2, 3), isr, leader, 0, 0)
        self.image = replay(Image(), [*brokers, TopicRecord("t", TOPIC), partition])

    def take(self, records: list[MetadataRecord]) -> PartitionState:
        assert [decode(encode(record)) for record in records] == records
        self.image = replay(self.image, records)
        return self.partition

    @property
    def partition(self) -> PartitionState:
        return self.image.topics["t"].partitions[0]

    def reassign(self, *replicas: int) -> PartitionState:
        return self.take(decide_reassign(self.image, self.image.topics["t"], 0, replicas, RULES))

    def cancel(self) -> PartitionState:
        return self.take(decide_reassign(self.image, self.image.topics["t"], 0, None, RULES))

    def in_sync(self, *isr: int) -> PartitionState:
        record = decide_change(TOPIC, 0, self.partition, RULES, self.image.is_active, isr=isr)
        return self.take([] if record is None else [record])

    def elect(self, kind: ElectionType) -> PartitionState:
        return self.take(decide_election(self.image, "t", 0, kind, RULES))


def test_new_replicas_are_added_first_and_old_ones_leave_when_they_are_in_sync() -> None:
    cluster = Cluster(1, 2, 3)
    moving = cluster.reassign(4, 5, 1)
    assert (moving.replicas, moving.adding, moving.removing) == ((4, 5, 1, 2, 3), (4, 5), (2, 3))
    assert (moving.isr, moving.leader) == ((1, 2, 3), 1)
    half = cluster.in_sync(1, 2, 3, 4)
    assert half.adding == (4, 5)
    done = cluster.in_sync(1, 2, 3, 4, 5)
    assert (done.replicas, done.adding, done.removing) == ((4, 5, 1), (), ())
    assert (done.isr, done.leader) == ((1, 4, 5), 1)
    assert done.leader_epoch == moving.leader_epoch + 1, "who left must not be counted any more"


def test_a_leader_that_leaves_is_followed_by_one_that_stays() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.reassign(4, 5)
    done = cluster.in_sync(1, 2, 3, 4, 5)
    assert (done.replicas, done.isr, done.leader) == ((4, 5), (4, 5), 4)


def test_fewer_replicas_take_effect_at_once() -> None:
    done = Cluster(1, 2, 3).reassign(2, 3)
    assert (done.replicas, done.isr, done.leader, done.removing) == ((2, 3), (2, 3), 2, ())


def test_another_order_of_the_same_replicas_moves_nothing() -> None:
    done = Cluster(1, 2, 3).reassign(3, 2, 1)
    assert (done.replicas, done.isr, done.leader, done.adding) == ((3, 2, 1), (1, 2, 3), 1, ())


def test_a_reassignment_is_taken_back() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.reassign(4, 5, 1)
    cluster.in_sync(1, 2, 3, 4)
    back = cluster.cancel()
    assert set(back.replicas) == {1, 2, 3}
    assert (back.isr, back.adding, back.removing) == ((1, 2, 3), (), ())
    with pytest.raises(KafkaError) as error:
        cluster.cancel()
    assert error.value.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_a_second_reassignment_forgets_what_the_first_one_added() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.reassign(4, 2, 3)
    again = cluster.reassign(5, 2, 3)
    assert (set(again.replicas), again.adding, again.removing) == ({5, 2, 3, 1}, (5,), (1,))


@pytest.mark.parametrize("replicas", [(), (1, 1), (1, 9), (-1,)])
def test_replicas_that_cannot_be_are_refused(replicas: tuple[int, ...]) -> None:
    with pytest.raises(KafkaError) as error:
        Cluster(1, 2, 3).reassign(*replicas)
    assert error.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_the_preferred_replica_is_elected_when_it_is_in_sync_and_not_needed_when_it_leads() -> None:
    assert Cluster(2, 1).elect(ElectionType.PREFERRED).leader == 1
    for cluster, code in (
        (Cluster(1, 2), ErrorCode.ELECTION_NOT_NEEDED),
        (Cluster(2, 3), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    ):
        with pytest.raises(KafkaError) as error:
            cluster.elect(ElectionType.PREFERRED)
        assert error.value.code is code


def test_an_unclean_election_gives_a_partition_without_leader_any_replica_that_is_there() -> None:
    assert Cluster(fenced=(1, 2)).elect(ElectionType.UNCLEAN).leader == 3
    for cluster, code in (
        (Cluster(1, 2), ErrorCode.ELECTION_NOT_NEEDED),
        (Cluster(fenced=(1, 2, 3)), ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ):
        with pytest.raises(KafkaError) as error:
            cluster.elect(ElectionType.UNCLEAN)
        assert error.value.code is code
