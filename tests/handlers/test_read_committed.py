"""Fetch, ListOffsets, DescribeProducers and WriteTxnMarkers where transactions are open, ended or hang."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.handlers.reply import Reply, Wait
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED
from penstock.protocol.messages import read_response
from penstock.records.batch import iter_headers
from tests.handlers.one_node import OneNode
from tests.handlers.transactional import HandProducer

LATEST = -1


@pytest.fixture
def node() -> OneNode:
    node = OneNode()
    node.create_topic("t")
    return node


def fetch_fields(isolation: int, offset: int = 0, wait_ms: int = 0) -> dict[str, Any]:
    part = {
        "partition": 0,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1 << 20,
    }
    return {
        "replica_id": -1,
        "max_wait": wait_ms,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": isolation,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": "t", "partitions": [part]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def fetched(answer: Any) -> tuple[list[int], list[tuple[int, int]] | None]:
    """Base offsets of the batches, and the aborted transactions."""
    (part,) = answer.responses[0].partitions
    offsets = [header.base_offset for _, header in iter_headers(part.records or b"")]
    if part.aborted_transactions is None:
        return offsets, None
    return offsets, [(each.producer_id, each.first_offset) for each in part.aborted_transactions]


@pytest.mark.parametrize("version", [4, 7, 11, 12])
def test_an_open_transaction_is_not_sent_to_readers_of_committed_records(node: OneNode, version: int) -> None:
    hand = HandProducer(node)
    producer = hand.identity()
    hand.add(producer, ("t", 0))
    hand.write(producer, b"open")
    assert fetched(node.ask(Api.FETCH, version, **fetch_fields(READ_UNCOMMITTED))) == ([0], None)
    assert fetched(node.ask(Api.FETCH, version, **fetch_fields(READ_COMMITTED))) == ([], [])
    hand.end(producer, commit=False)
    assert fetched(node.ask(Api.FETCH, version, **fetch_fields(READ_COMMITTED))) == (
        [0, 1],
        [(producer[0], 0)],
    )


def test_a_reader_that_waits_is_woken_when_the_transaction_ends(node: OneNode) -> None:
    hand = HandProducer(node)
    producer = hand.identity()
    hand.add(producer, ("t", 0))
    hand.write(producer, b"open")
    waiting = node.submit(Api.FETCH, 12, **fetch_fields(READ_COMMITTED, wait_ms=10_000))
    assert isinstance(waiting, Wait)

    class Woken:
        count = 0

        def wake(self) -> None:
            self.count += 1

    woken = Woken()
    for watched in waiting.watched:
        watched.watch(woken)
    hand.end(producer)
    assert woken.count
    answer = waiting.resume(False)
    assert isinstance(answer, Reply)


def list_offset(node: OneNode, isolation: int, timestamp: int) -> int:
    part = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
    topics = [{"name": "t", "partitions": [part]}]
    answer = node.ask(Api.LIST_OFFSETS, 7, replica_id=-1, isolation_level=isolation, topics=topics)
    return int(answer.topics[0].partitions[0].offset)


def test_the_latest_offset_of_committed_records_is_the_stable_one(node: OneNode) -> None:
    hand = HandProducer(node)
    producer = hand.identity()
    hand.add(producer, ("t", 0))
    hand.write(producer, b"open")
    assert (list_offset(node, READ_UNCOMMITTED, LATEST), list_offset(node, READ_COMMITTED, LATEST)) == (1, 0)
    assert (list_offset(node, READ_UNCOMMITTED, 0), list_offset(node, READ_COMMITTED, 0)) == (0, -1)
    hand.end(producer)
    assert list_offset(node, READ_COMMITTED, LATEST) == 2


def producers(node: OneNode) -> list[Any]:
    topics = [{"name": "t", "partition_indexes": [0]}]
    return list(node.ask(Api.DESCRIBE_PRODUCERS, 0, topics=topics).topics[0].partitions[0].active_producers)


def write_marker(
    node: OneNode,
    producer: tuple[int, int],
    *,
    coordinator_epoch: int,
    version: int = 1,
    commit: bool = False,
) -> ErrorCode:
    marker = {
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "transaction_result": commit,
        "topics": [{"name": "t", "partition_indexes": [0]}],
        "coordinator_epoch": coordinator_epoch,
        "transaction_version": 2,
    }
    answer = node.ask(Api.WRITE_TXN_MARKERS, version, markers=[marker])
    return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)


def test_a_transaction_that_hangs_is_told_and_ended_by_a_marker(node: OneNode) -> None:
    hand = HandProducer(node)
    hand.write((77, 0), b"its coordinator knows nothing of it")
    (told,) = producers(node)
    assert (told.producer_id, told.current_txn_start_offset) == (77, 0)
    assert write_marker(node, (77, 0), coordinator_epoch=3) is ErrorCode.NONE
    (told,) = producers(node)
    assert (told.coordinator_epoch, told.current_txn_start_offset) == (3, -1)
    assert list_offset(node, READ_COMMITTED, LATEST) == 2


def test_markers_of_replaced_coordinators_and_epochs_are_fenced(node: OneNode) -> None:
    hand = HandProducer(node)
    hand.write((77, 4), b"x")
    assert write_marker(node, (77, 3), coordinator_epoch=3) is ErrorCode.INVALID_PRODUCER_EPOCH
    # In version 2 of the request the marker tells its transaction version: its epoch must be a higher one.
    assert write_marker(node, (77, 4), coordinator_epoch=3, version=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert write_marker(node, (77, 5), coordinator_epoch=3, version=2) is ErrorCode.NONE
    assert write_marker(node, (77, 5), coordinator_epoch=3, version=2) is ErrorCode.NONE  # sent once more
    hand.write((77, 5), b"y")
    assert write_marker(node, (77, 6), coordinator_epoch=2) is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_for_a_partition_that_is_not_here_says_so(node: OneNode) -> None:
    marker = {
        "producer_id": 1,
        "producer_epoch": 0,
        "transaction_result": True,
        "topics": [{"name": "nowhere", "partition_indexes": [5]}],
        "coordinator_epoch": 0,
    }
    body = node.ask_raw(Api.WRITE_TXN_MARKERS, 1, markers=[marker])
    (told,) = read_response(Api.WRITE_TXN_MARKERS, 1, body).markers[0].topics[0].partitions
    assert ErrorCode(told.error_code) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
