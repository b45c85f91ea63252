"""Fetchers over real sockets: broker 1 is a real broker that leads, the follower is a partition of this
test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.clock import SystemClock
from penstock.controller.metadata_records import PartitionRecord, TopicRecord
from penstock.controller.partition_records import PartitionChangeRecord
from penstock.protocol.errors import ErrorCode
from penstock.replication.partition import Partition
from penstock.replication.surroundings import Surroundings
from penstock.server.cluster.replica_fetchers import ReplicaFetchers, Replicas
from penstock.settings import BrokerSettings, TopicSettings
from penstock.storage.disk import OsDisk
from penstock.storage.log import Log
from penstock.testing import Broker
from penstock.wire.connection import Address
from tests.storage.builders import batch, values

FOLLOWER = 2
WAIT_SECONDS = 20.0


def topic_id(number: int) -> bytes:
    return bytes(15) + bytes([number])


class Leader:
    """A real broker; the metadata is written by hand."""

    def __init__(self, data: Path) -> None:
        self.broker = Broker(str(data)).start()

    @property
    def node(self) -> Any:
        assert self.broker._broker is not None
        return self.broker._broker._node

    @property
    def address(self) -> Address:
        return Address.parse(self.broker.bootstrap_servers)

    def create(self, number: int) -> Partition:
        """Topic `t<number>`, led here and followed by the test."""
        name, id_ = f"t{number}", topic_id(number)
        partition = PartitionRecord(0, id_, (1, FOLLOWER), (1, FOLLOWER), 1, 0, 0)
        self.commit(TopicRecord(name, id_), partition)
        return self.partition(number)

    def partition(self, number: int) -> Partition:
        partition: Partition = self.node.broker.partitions.get(f"t{number}", 0)
        return partition

    def commit(self, *records: Any) -> None:
        self.node.broker.controller.submit(lambda image: (list(records), None)).result()


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[Leader]:
    leader = Leader(tmp_path / "leader")
    yield leader
    leader.broker.stop()


@pytest.fixture
def fetchers(leader: Leader) -> Iterator[ReplicaFetchers]:
    settings = BrokerSettings.from_texts({"node.id": str(FOLLOWER), "replica.fetch.backoff.ms": "50"})
    fetchers = ReplicaFetchers(Replicas(settings, SystemClock(), lambda _: leader.address, lambda: 9))
    fetchers.start()
    yield fetchers
    fetchers.close()


def follower(leader: Leader, data: Path, number: int) -> Partition:
    """The follower's replica, with the role that the metadata gives it."""
    path = str(data / f"t{number}-0")
    log = Log.open(OsDisk(), path, TopicSettings(), SystemClock(), clean=True, random=Random(1))
    log.high_watermark = 0
    partition = Partition(f"t{number}", topic_id(number), 0, log, Surroundings(FOLLOWER))
    partition.assume(leader.node.broker.controller.image.topics[f"t{number}"].partitions[0])
    return partition


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.005)


def test_a_follower_is_brought_up_to_its_leader(
    leader: Leader, fetchers: ReplicaFetchers, tmp_path: Path
) -> None:
    led = leader.create(1)
    led.append(batch(b"before"), to_all=True)
    following = follower(leader, tmp_path, 1)
    told: list[ErrorCode] = []
    led.when_acknowledged(1, 0, told.append)
    fetchers.follow(following)
    fetchers.settle()
    wait_until(lambda: told == [ErrorCode.NONE])
    led.append(batch(b"after"), to_all=True)
    wait_until(lambda: led.high_watermark == 2)
    assert values(following.log) == [b"before", b"after"]


def test_a_partition_that_comes_does_not_wait_for_the_fetch_under_way(
    leader: Leader, fetchers: ReplicaFetchers, tmp_path: Path
) -> None:
    leader.create(1)
    fetchers.follow(follower(leader, tmp_path, 1))
    fetchers.settle()
    wait_until(lambda: bool(leader.partition(1).written.waiting))  # the leader holds the fetch now
    led = leader.create(2)
    led.append(batch(b"x"), to_all=True)
    fetchers.follow(follower(leader, tmp_path, 2))
    fetchers.settle()
    wait_until(lambda: led.high_watermark == 1)


def test_a_follower_whose_log_parted_is_cut_and_goes_on(
    leader: Leader, fetchers: ReplicaFetchers, tmp_path: Path
) -> None:
    led = leader.create(1)
    led.append(batch(b"kept"), to_all=True)
    following = follower(leader, tmp_path, 1)
    data = batch(b"lost", b"lost, too")
    following.log.append_produced(following.log.examine(data), leader_epoch=0)
    leader.commit(PartitionChangeRecord(0, topic_id(1), leader=1))  # the next epoch
    following.assume(leader.node.broker.controller.image.topics["t1"].partitions[0])
    fetchers.follow(following)
    fetchers.settle()
    wait_until(lambda: led.high_watermark == 1)
    assert values(following.log)[1:] == []


def test_a_follower_before_the_beginning_of_its_leaders_log_begins_there(
    leader: Leader, fetchers: ReplicaFetchers, tmp_path: Path
) -> None:
    led = leader.create(1)
    for value in (b"a", b"b", b"c"):
        led.append(batch(value), to_all=False)
    with led.lock:
        led.log.high_watermark = 3
        led.log.delete_records_before(2)
    following = follower(leader, tmp_path, 1)
    fetchers.follow(following)
    fetchers.settle()
    wait_until(lambda: following.log.log_end_offset == 3)
    assert (values(following.log), following.log.log_start_offset) == ([b"c"], 2)


def test_a_fetcher_comes_back_to_a_leader_that_was_away(
    leader: Leader, fetchers: ReplicaFetchers, tmp_path: Path
) -> None:
    leader.create(1)
    following = follower(leader, tmp_path, 1)
    fetchers.follow(following)
    fetchers.settle()
    wait_until(lambda: bool(leader.partition(1).written.waiting))
    leader.broker.stop()
    leader.broker.start()
    following.assume(
        leader.node.broker.controller.image.topics["t1"].partitions[0]
    )  # perhaps of another epoch
    leader.partition(1).append(batch(b"again"), to_all=True)
    wait_until(lambda: following.high_watermark == 1)
    assert values(following.log) == [b"again"]


def test_a_partition_that_left_is_not_fetched(
    leader: Leader, fetchers: ReplicaFetchers, tmp_path: Path
) -> None:
    leader.create(1)
    led = leader.create(2)
    left, stays = follower(leader, tmp_path, 1), follower(leader, tmp_path, 2)
    for partition in (left, stays):
        fetchers.follow(partition)
    fetchers.leave(left)
    fetchers.settle()
    leader.partition(1).append(batch(b"x"), to_all=True)
    led.append(batch(b"y"), to_all=True)
    wait_until(lambda: led.high_watermark == 1)
    assert left.log.log_end_offset == 0
