"""Brokers register, beat, are fenced and stop; a leader changes its ISR."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.controller.alter_partition import WantedIsr, decide_alter_partition
from penstock.controller.broker_records import Endpoint
from penstock.controller.brokers import (
    Heartbeat,
    HeartbeatAnswer,
    Registration,
    Sessions,
    decide_fence,
    decide_heartbeat,
    decide_register,
    decide_unregister,
)
from penstock.controller.image import Image, PartitionState, replay
from penstock.controller.metadata_records import MetadataRecord, PartitionRecord, TopicRecord, decode, encode
from penstock.controller.partition_changes import Rules
from penstock.protocol.errors import ErrorCode, KafkaError

CLUSTER = "a-cluster"
TOPIC_ID = b"t" * 16


def rules_of(topic: str) -> Rules:
    return Rules(min_isr=2, unclean=False)


class Cluster:
    """An image that takes records, and offsets that go up."""

    def __init__(self, *brokers: int) -> None:
        self.image, self.offset, self.epochs = Image(), 10, dict[int, int]()
        for broker in brokers:
            self.register(broker)
            self.beat(broker)

    def take(self, records: list[MetadataRecord]) -> None:
        assert [decode(encode(record)) for record in records] == records
        self.image = replay(self.image, records)
        self.offset += len(records)

    def register(
        self,
        broker: int,
        life: int = 1,
        *,
        is_live: bool = False,
        previous: int = -1,
        cluster: str = CLUSTER,
        disk: bytes = b"d",
    ) -> int:
        endpoints = (Endpoint("PLAINTEXT", "h", 65535),)
        wish = Registration(broker, cluster, bytes([life]) * 16, endpoints, "r", previous, (disk * 16,))
        records, epoch = decide_register(self.image, wish, CLUSTER, self.offset, rules_of, is_live=is_live)
        self.take(records)
        self.epochs[broker] = epoch
        return epoch

    def beat(
        self, broker: int, *, offset: int | None = None, fence: bool = False, stop: bool = False
    ) -> HeartbeatAnswer:
        beat = Heartbeat(broker, self.epochs[broker], self.offset if offset is None else offset, fence, stop)
        records, told = decide_heartbeat(self.image, beat, rules_of)
        self.take(records)
        return told

    def add_partition(self, replicas: tuple[int, ...]) -> None:
        partition = PartitionRecord(0, TOPIC_ID, replicas, replicas, replicas[0], 0, 0)
        self.take([TopicRecord("t", TOPIC_ID), partition])

    @property
    def partition(self) -> PartitionState:
        return self.image.topics["t"].partitions[0]


def test_a_broker_is_fenced_until_it_has_followed_its_own_registration() -> None:
    cluster = Cluster()
    epoch = cluster.register(1)
    assert epoch == 10
    assert cluster.beat(1, offset=9) == HeartbeatAnswer(fenced=True, caught_up=False, may_stop=False)
    assert cluster.beat(1, offset=10) == HeartbeatAnswer(fenced=False, caught_up=True, may_stop=False)
    assert cluster.image.brokers[1].is_active
    assert cluster.image.brokers[1].endpoints[0].port == 65535


def test_a_second_process_with_an_id_in_use_is_refused_and_takes_over_when_the_first_is_silent() -> None:
    cluster = Cluster(1)
    with pytest.raises(KafkaError) as refused:
        cluster.register(1, life=2, is_live=True)
    assert refused.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    first = cluster.epochs[1]
    assert cluster.register(1, life=2, is_live=False) > first
    cluster.epochs[1] = first
    with pytest.raises(KafkaError) as stale:
        cluster.beat(1)
    assert stale.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_a_registration_that_is_repeated_changes_nothing() -> None:
    cluster = Cluster(1)
    assert cluster.register(1, life=1, is_live=True) == 10


def test_a_broker_of_another_cluster_is_refused() -> None:
    with pytest.raises(KafkaError) as refused:
        Cluster().register(1, cluster="another")
    assert refused.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID


def test_a_silent_broker_is_fenced_and_leads_nothing() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.add_partition((1, 2, 3))
    sessions = Sessions(timeout_ms=9000)
    assert sessions.expired(cluster.image, 0) == []
    sessions.touch(2, 8000)
    sessions.touch(3, 8000)
    assert sessions.expired(cluster.image, 9000) == [1]
    cluster.take(decide_fence(cluster.image, cluster.image.brokers[1], rules_of))
    assert (cluster.partition.leader, cluster.partition.isr) == (2, (2, 3))
    assert cluster.beat(1).fenced is False
    assert cluster.partition.isr == (2, 3), "back in service, it must catch up before it is in sync"


def test_time_in_which_nobody_could_be_heard_is_not_silence_and_no_more_than_that_is_forgiven() -> None:
    cluster = Cluster(1, 2, 3)
    sessions = Sessions(timeout_ms=9000)
    sessions.touch(1, 0)
    sessions.touch(2, 6000)
    sessions.touch(3, 7900)  # while nobody looked: it is not heard of in the future
    sessions.extend(3000, now_ms=8000)
    assert sessions.expired(cluster.image, 11_999) == []
    assert sessions.expired(cluster.image, 12_000) == [1]
    assert sessions.expired(cluster.image, 17_000) == [1, 2, 3]


def test_a_broker_that_stops_in_an_orderly_way_gives_its_partitions_away_first() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.add_partition((1, 2, 3))
    assert not cluster.beat(1, stop=True).may_stop
    assert (cluster.partition.leader, cluster.partition.isr) == (2, (2, 3))
    assert cluster.beat(1, stop=True).may_stop


def test_a_broker_that_stops_waits_until_those_that_stay_have_followed_that() -> None:
    cluster, sessions = Cluster(1, 2, 3), Sessions(timeout_ms=9000)
    stop = Heartbeat(1, cluster.epochs[1], 20, wants_shutdown=True)
    sessions.beat(stop, 0, 21)
    for broker, followed, known in ((2, 21, False), (3, 20, False), (3, 22, True)):
        sessions.beat(Heartbeat(broker, cluster.epochs[broker], followed), 0, 21)
        assert sessions.know_who_leaves(cluster.image, 1) is known
    cluster.add_partition((1, 2, 3))
    cluster.beat(1, stop=True)
    for known in (False, True):
        _, told = decide_heartbeat(cluster.image, stop, rules_of, others_know=known)
        assert told.may_stop is known


def test_nobody_waits_for_those_that_stop_too_or_are_fenced() -> None:
    cluster, sessions = Cluster(1, 2, 3), Sessions(timeout_ms=9000)
    sessions.beat(Heartbeat(1, cluster.epochs[1], 20, wants_shutdown=True), 0, 21)
    assert not sessions.know_who_leaves(cluster.image, 1)
    cluster.beat(2, stop=True)
    cluster.take(decide_fence(cluster.image, cluster.image.brokers[3], rules_of))
    assert sessions.know_who_leaves(cluster.image, 1)


def test_an_unclean_restart_takes_a_replica_out_of_those_who_may_lead() -> None:
    for clean in (True, False):
        cluster = Cluster(1, 2)
        cluster.add_partition((1, 2))
        for broker in (2, 1):
            cluster.take(decide_fence(cluster.image, cluster.image.brokers[broker], rules_of))
        assert cluster.partition.elr == (1, 2)
        cluster.register(1, life=2, previous=cluster.epochs[1] if clean else -1)
        cluster.beat(1)
        assert cluster.partition.leader == (1 if clean else -1)


@pytest.mark.parametrize(("disk", "leader"), [(b"d", 1), (b"e", 2)])
def test_of_brokers_that_all_stopped_the_one_with_another_disk_does_not_lead(
    disk: bytes, leader: int
) -> None:
    cluster = Cluster(1, 2)
    cluster.add_partition((1, 2))
    for broker in (2, 1):
        cluster.take(decide_fence(cluster.image, cluster.image.brokers[broker], rules_of))
    cluster.register(1, life=2, disk=disk)
    cluster.beat(1)
    assert cluster.partition.leader == -1
    cluster.register(2, life=2)
    cluster.beat(2)
    assert cluster.partition.leader == leader


def test_a_broker_that_is_forgotten_is_in_no_isr() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.add_partition((1, 2, 3))
    cluster.take(decide_unregister(cluster.image, 3, rules_of))
    assert cluster.partition.isr == (1, 2)
    assert 3 not in cluster.image.brokers
    with pytest.raises(KafkaError) as unknown:
        decide_unregister(cluster.image, 3, rules_of)
    assert unknown.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


class TestAlterPartition:
    def wanted(self, cluster: Cluster, *isr: int) -> WantedIsr:
        state = cluster.partition
        members = tuple((node, cluster.epochs[node]) for node in isr)
        return WantedIsr(TOPIC_ID, 0, state.leader_epoch, state.partition_epoch, members)

    def shrunk(self) -> Cluster:
        cluster = Cluster(1, 2, 3)
        cluster.add_partition((1, 2, 3))
        cluster.take(decide_alter_partition(cluster.image, 1, self.wanted(cluster, 1, 2), rules_of("t")))
        assert cluster.partition.isr == (1, 2)
        return cluster

    def test_an_isr_shrinks_and_grows_under_the_same_leader_epoch(self) -> None:
        cluster = self.shrunk()
        cluster.take(decide_alter_partition(cluster.image, 1, self.wanted(cluster, 1, 2, 3), rules_of("t")))
        assert (cluster.partition.isr, cluster.partition.leader_epoch) == ((1, 2, 3), 0)
        assert cluster.partition.partition_epoch == 2

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
            ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
            ({"partition_epoch": 0}, ErrorCode.INVALID_UPDATE_VERSION),
            ({"topic_id": b"x" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
            ({"partition": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ({"isr": ((2, -1),)}, ErrorCode.INVALID_REQUEST),
            ({"isr": ((1, -1), (9, -1))}, ErrorCode.INVALID_REQUEST),
            ({"isr": ((1, -1), (3, 999))}, ErrorCode.INELIGIBLE_REPLICA),
        ],
    )
    def test_what_rests_on_old_news_is_refused(self, change: dict[str, object], code: ErrorCode) -> None:
        cluster = self.shrunk()
        wanted = replace(self.wanted(cluster, 1, 2, 3), **change)  # type: ignore[arg-type]
        with pytest.raises(KafkaError) as refused:
            decide_alter_partition(cluster.image, 1, wanted, rules_of("t"))
        assert refused.value.code is code

    def test_only_the_leader_may_and_no_fenced_broker_joins(self) -> None:
        cluster = self.shrunk()
        with pytest.raises(KafkaError) as other:
            decide_alter_partition(cluster.image, 2, self.wanted(cluster, 1, 2, 3), rules_of("t"))
        assert other.value.code is ErrorCode.INVALID_REQUEST
        wanted = self.wanted(cluster, 1, 2, 3)
        cluster.take(decide_fence(cluster.image, cluster.image.brokers[3], rules_of))
        with pytest.raises(KafkaError) as fenced:
            decide_alter_partition(cluster.image, 1, wanted, rules_of("t"))
        assert fenced.value.code is ErrorCode.INELIGIBLE_REPLICA
