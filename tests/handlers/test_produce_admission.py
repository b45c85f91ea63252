"""Produce of transactional batches: added, verified or refused by the transaction's coordinator."""

from __future__ import annotations

import pytest

from penstock.coordinator.promise import Promise, done
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record, encode_batch
from tests.handlers.one_node import OneNode
from tests.handlers.transactional import TX, HandProducer

Identity = tuple[int, int]


@pytest.fixture
def node() -> OneNode:
    node = OneNode()
    node.create_topic("t", 2)
    return node


def produce(
    node: OneNode,
    *producers: Identity,
    version: int,
    sequence: int = 0,
    transactional_id: str | None = TX,
    transactional: bool = True,
) -> list[ErrorCode]:
    """One batch of each producer, to partition 0, 1, …"""
    data = [
        {
            "index": index,
            "records": bytes(
                encode_batch(
                    [Record(None, b"v", timestamp_ms=node.clock.now_ms())],
                    producer_id=producer[0],
                    producer_epoch=producer[1],
                    base_sequence=sequence,
                    transactional=transactional,
                )
            ),
        }
        for index, producer in enumerate(producers)
    ]
    answer = node.ask(
        Api.PRODUCE,
        version,
        transactional_id=transactional_id,
        acks=-1,
        timeout=1000,
        topic_data=[{"name": "t", "partition_data": data}],
    )
    return [ErrorCode(part.error_code) for part in answer.responses[0].partition_responses]


def test_from_v12_on_a_batch_joins_its_partition_to_the_transaction(node: OneNode) -> None:
    hand = HandProducer(node)
    producer = hand.identity()
    assert produce(node, producer, producer, version=12) == [ErrorCode.NONE, ErrorCode.NONE]
    described = hand.describe()
    assert [(topic.topic, sorted(topic.partitions)) for topic in described.topics] == [("t", [0, 1])]
    assert produce(node, producer, version=12, sequence=1) == [ErrorCode.NONE]


@pytest.mark.parametrize(
    ("version", "expected"),
    [(9, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_before_a_partition_must_have_been_added(node: OneNode, version: int, expected: ErrorCode) -> None:
    hand = HandProducer(node)
    producer = hand.identity()
    hand.add(producer, ("t", 0))
    assert produce(node, producer, producer, version=version) == [ErrorCode.NONE, expected]


def test_a_batch_of_an_earlier_epoch_is_fenced(node: OneNode) -> None:
    hand = HandProducer(node)
    old = hand.identity()
    assert produce(node, old, version=12) == [ErrorCode.NONE]
    new = hand.end(old, version=5, commit=False)
    assert (new.producer_id, new.producer_epoch) == (old[0], old[1] + 1)
    for version in (9, 12):
        assert produce(node, old, version=version, sequence=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]


def test_a_stranger_cannot_write_under_an_id(node: OneNode) -> None:
    hand = HandProducer(node)
    producer_id, epoch = hand.identity()
    assert produce(node, (producer_id + 1, epoch), version=12) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    mixed = produce(node, (producer_id, epoch), (producer_id + 1, epoch), version=12)
    assert mixed == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


def test_a_transactional_batch_needs_a_transactional_id(node: OneNode) -> None:
    producer = HandProducer(node).identity()
    refused = produce(node, producer, version=12, transactional_id=None)
    assert refused == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]


def test_while_the_last_one_ends_a_batch_is_to_be_sent_again(node: OneNode) -> None:
    assert produce(node, (1, 0), version=12, transactional_id="no coordinator yet") == [
        ErrorCode.NOT_ENOUGH_REPLICAS
    ]


def test_batches_outside_of_transactions_ask_nobody(node: OneNode) -> None:
    assert produce(node, (5, 0), version=12, transactional_id=None, transactional=False) == [ErrorCode.NONE]


def test_without_verification_old_clients_are_believed() -> None:
    node = OneNode({"transaction.partition.verification.enable": "false"})
    node.create_topic("t")
    producer = HandProducer(node).identity()
    assert produce(node, producer, version=9) == [ErrorCode.NONE]


class Verifier:
    """A coordinator that answers with these codes, one after the other, and the last one again and again."""

    def __init__(self, *codes: ErrorCode) -> None:
        self._codes = list(codes)
        self.asked = 0

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        places: list[TopicPartition],
        *,
        verify_only: bool,
    ) -> Promise[dict[TopicPartition, ErrorCode]]:
        self.asked += 1
        code = self._codes.pop(0) if len(self._codes) > 1 else self._codes[0]
        return done(dict.fromkeys(places, code))


def test_a_batch_that_comes_before_the_last_transaction_has_ended_is_admitted_when_it_has(
    node: OneNode,
) -> None:
    verifier = Verifier(*[ErrorCode.CONCURRENT_TRANSACTIONS] * 3, ErrorCode.NONE)
    producer = HandProducer(node).identity()
    node.broker.verifier = verifier
    before_ms = node.clock.now_ms()
    assert produce(node, producer, producer, version=12) == [ErrorCode.NONE, ErrorCode.NONE]
    assert verifier.asked == 4
    assert node.clock.now_ms() - before_ms == 60


def test_a_transaction_that_ends_slowly_is_not_asked_for_without_an_end(node: OneNode) -> None:
    verifier = Verifier(ErrorCode.CONCURRENT_TRANSACTIONS)
    producer = HandProducer(node).identity()
    node.broker.verifier = verifier
    assert produce(node, producer, version=12) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert verifier.asked == 6
    assert produce(node, producer, version=11) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert verifier.asked == 7, "older clients add partitions themselves, and learn of it there"
