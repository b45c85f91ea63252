"""Brokers with several log directories, on the controller's listener: where replicas are, and what has failed
(KIP-858)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.controller.directory_ids import UNASSIGNED
from penstock.controller.image import PartitionState
from penstock.controller.metadata_records import PartitionRecord, TopicRecord
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.server.connections.session import Session
from tests.handlers.one_node import LISTENER, OneNode

TOPIC_ID = bytes(15) + b"\x09"
A, B = b"a" * 16, b"b" * 16


class Controlled:
    """Broker 1, and broker 2, which has two directories; both hold `orders-0`, and 2 leads."""

    def __init__(self) -> None:
        self.node = OneNode({"controller.listener.names": "CONTROLLER"})
        self._clients = self.node.session
        self._controllers = Session(self.node.broker, "CONTROLLER", "127.0.0.1")
        self.epoch = self._register()
        self.beat()
        replicas = (2, 1)
        partition = PartitionRecord(
            0, TOPIC_ID, replicas, replicas, 2, 0, 0, directories=(UNASSIGNED, UNASSIGNED)
        )
        records = [TopicRecord("orders", TOPIC_ID), partition]
        self.node.broker.controller.submit(lambda image: (records, None)).result()

    def ask(self, api: Api, version: int, **fields: Any) -> Any:
        self.node.session = self._controllers
        try:
            return self.node.ask(api, version, **fields)
        finally:
            self.node.session = self._clients

    def _register(self) -> int:
        listener = {"name": LISTENER, "host": "b2", "port": 9092, "security_protocol": 0}
        answer = self.ask(
            Api.BROKER_REGISTRATION,
            4,
            broker_id=2,
            cluster_id=self.node.broker.cluster_id,
            incarnation_id=b"i" * 16,
            listeners=[listener],
            features=(),
            rack=None,
            is_migrating_zk_broker=False,
            log_dirs=(A, B),
            previous_broker_epoch=-1,
        )
        return int(answer.broker_epoch)

    def beat(self, *offline: bytes) -> None:
        answer = self.ask(
            Api.BROKER_HEARTBEAT,
            1,
            broker_id=2,
            broker_epoch=self.epoch,
            current_metadata_offset=self.node.broker.controller.last_offset,
            want_fence=False,
            want_shut_down=False,
            offline_log_dirs=offline,
        )
        assert not answer.error_code

    def assign(self, directory: bytes, *partitions: int, topic_id: bytes = TOPIC_ID, epoch: int = 0) -> Any:
        topic = {"topic_id": topic_id, "partitions": [{"partition_index": each} for each in partitions]}
        return self.ask(
            Api.ASSIGN_REPLICAS_TO_DIRS,
            0,
            broker_id=2,
            broker_epoch=epoch or self.epoch,
            directories=[{"id_": directory, "topics": [topic]}],
        )

    @property
    def partition(self) -> PartitionState:
        return self.node.broker.controller.image.topics["orders"].partitions[0]

    def offline_replicas(self) -> list[tuple[int, ...]]:
        """As Metadata and DescribeTopicPartitions tell them to clients."""
        wanted = {"topics": [{"name": "orders"}], "response_partition_limit": 10, "cursor": None}
        described = self.node.ask(Api.DESCRIBE_TOPIC_PARTITIONS, 0, **wanted)
        metadata = self.node.ask(
            Api.METADATA,
            12,
            topics=[{"topic_id": None, "name": "orders"}],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        return [tuple(answer.topics[0].partitions[0].offline_replicas) for answer in (described, metadata)]


@pytest.fixture
def controlled() -> Controlled:
    return Controlled()


def test_a_broker_tells_where_its_replica_is(controlled: Controlled) -> None:
    answer = controlled.assign(B, 0)
    (directory,) = answer.directories
    assert directory.id_.bytes == B
    assert [int(part.error_code) for part in directory.topics[0].partitions] == [0]
    assert controlled.partition.places == {2: B, 1: UNASSIGNED}


def test_what_is_wrong_is_told_for_each_replica_by_itself(controlled: Controlled) -> None:
    (directory,) = controlled.assign(B, 7, 0).directories
    assert [int(part.error_code) for part in directory.topics[0].partitions] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    ]
    (other,) = controlled.assign(B, 0, topic_id=b"?" * 16).directories
    assert int(other.topics[0].partitions[0].error_code) == ErrorCode.UNKNOWN_TOPIC_ID


def test_an_earlier_life_of_a_broker_is_not_believed(controlled: Controlled) -> None:
    answer = controlled.assign(B, 0, epoch=controlled.epoch - 1)
    assert int(answer.error_code) == ErrorCode.STALE_BROKER_EPOCH
    assert controlled.partition.places[2] == UNASSIGNED


def test_a_directory_that_a_heartbeat_tells_to_have_failed_is_told_to_clients(controlled: Controlled) -> None:
    controlled.assign(B, 0)
    assert controlled.offline_replicas() == [(), ()]
    controlled.beat(A)
    assert (controlled.partition.leader, controlled.offline_replicas()) == (2, [(), ()])


def test_the_leader_in_a_failed_directory_is_replaced(controlled: Controlled) -> None:
    controlled.assign(B, 0)
    controlled.beat(B)
    assert (controlled.partition.leader, controlled.partition.isr) == (1, (1,))
    assert controlled.offline_replicas() == [(2,), (2,)]
