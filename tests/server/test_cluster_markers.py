"""Markers of a transaction whose partitions are led by several brokers, and the question whether a
partition is in one that is coordinated elsewhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.coordinator.promise import Promise, done
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.server.cluster.cluster_markers import ClusterMarkers
from penstock.server.cluster.transactions_anywhere import TransactionsAnywhere
from penstock.transactions.markers import Ending

HERE, THERE, FAR = 1, 2, 3
LEADERS = {("a", 0): HERE, ("a", 1): THERE, ("b", 0): THERE, ("c", 0): FAR, ("nobody", 0): None}
Place = tuple[str, int]


class Peers:
    """Other brokers; their answers are given by hand."""

    def __init__(self) -> None:
        self.asked: dict[int, tuple[Api, dict[str, Any], Promise[Any]]] = {}

    def ask(self, node_id: int, api: Api, versions: tuple[int, int], fields: dict[str, Any]) -> Promise[Any]:
        promise: Promise[Any] = Promise()
        self.asked[node_id] = (api, fields, promise)
        return promise


class Local:
    """What is written here, and whether it is committed at once."""

    def __init__(self) -> None:
        self.written: dict[Place, Any] = {}

    def write(self, marker: Any, topic: str, index: int, tell: Any) -> None:
        self.written[topic, index] = tell


def leader_of(topic: str, index: int) -> int | None:
    return LEADERS[topic, index]


def ending(*places: Place) -> Ending:
    return Ending("tx", 7, 3, 5, True, 2, frozenset(places))


def written(codes: dict[Place, ErrorCode]) -> Any:
    topics = [
        SimpleNamespace(name=topic, partitions=[SimpleNamespace(partition_index=index, error_code=code)])
        for (topic, index), code in codes.items()
    ]
    return SimpleNamespace(markers=[SimpleNamespace(topics=topics)])


@pytest.fixture
def peers() -> Peers:
    return Peers()


@pytest.fixture
def local() -> Local:
    return Local()


@pytest.fixture
def markers(peers: Peers, local: Local) -> ClusterMarkers:
    return ClusterMarkers(HERE, local, peers, leader_of)  # type: ignore[arg-type]


def test_each_leader_is_asked_once_for_all_its_partitions(
    markers: ClusterMarkers, peers: Peers, local: Local
) -> None:
    rest: list[frozenset[Place]] = []
    markers.write(ending(("a", 0), ("a", 1), ("b", 0)), rest.append)
    assert list(local.written) == [("a", 0)]
    api, fields, answer = peers.asked[THERE]
    (marker,) = fields["markers"]
    assert api is Api.WRITE_TXN_MARKERS
    assert (marker["producer_id"], marker["producer_epoch"], marker["transaction_result"]) == (7, 3, True)
    assert {topic["name"]: topic["partition_indexes"] for topic in marker["topics"]} == {"a": [1], "b": [0]}
    local.written["a", 0](True)
    assert rest == []
    answer.complete(written({("a", 1): ErrorCode.NONE, ("b", 0): ErrorCode.INVALID_PRODUCER_EPOCH}))
    assert rest == [frozenset()]


def test_what_was_refused_or_not_answered_is_given_back(
    markers: ClusterMarkers, peers: Peers, local: Local
) -> None:
    rest: list[frozenset[Place]] = []
    markers.write(ending(("a", 0), ("a", 1), ("b", 0), ("c", 0)), rest.append)
    local.written["a", 0](False)
    refused = {("a", 1): ErrorCode.NOT_LEADER_OR_FOLLOWER, ("b", 0): ErrorCode.NONE}
    peers.asked[THERE][2].complete(written(refused))
    peers.asked[FAR][2].fail(KafkaError(ErrorCode.NETWORK_EXCEPTION))
    assert rest == [frozenset({("a", 0), ("a", 1), ("c", 0)})]


def test_a_partition_without_a_leader_is_looked_for_here(markers: ClusterMarkers, local: Local) -> None:
    markers.write(ending(("nobody", 0)), lambda rest: None)
    assert list(local.written) == [("nobody", 0)]


def test_an_end_without_partitions_is_done_at_once(markers: ClusterMarkers) -> None:
    rest: list[frozenset[Place]] = []
    markers.write(ending(), rest.append)
    assert rest == [frozenset()]


class Coordinator:
    """The transaction coordinator of this broker."""

    def shard_of(self, transactional_id: str) -> int:
        return {"here": 0, "there": 1, "lost": 2}[transactional_id]

    def add_or_verify(self, *_: Any, **__: Any) -> Promise[dict[Place, ErrorCode]]:
        return done({("a", 0): ErrorCode.NONE})


def verifier(peers: Peers) -> TransactionsAnywhere:
    return TransactionsAnywhere(
        HERE,
        Coordinator(),  # type: ignore[arg-type]
        peers,
        lambda _, index: (HERE, THERE, None)[index],
    )


def test_a_coordinator_here_is_asked_here(peers: Peers) -> None:
    promise = verifier(peers).add_or_verify("here", 7, 3, [("a", 0)], verify_only=True)
    assert promise.result() == {("a", 0): ErrorCode.NONE}
    assert peers.asked == {}


def test_a_coordinator_elsewhere_is_asked_there(peers: Peers) -> None:
    promise = verifier(peers).add_or_verify("there", 7, 3, [("a", 0), ("a", 1)], verify_only=True)
    api, fields, answer = peers.asked[THERE]
    (transaction,) = fields["transactions"]
    assert api is Api.ADD_PARTITIONS_TO_TXN
    assert (transaction["transactional_id"], transaction["verify_only"]) == ("there", True)
    assert not promise.done
    part = SimpleNamespace(partition_index=0, partition_error_code=ErrorCode.TRANSACTION_ABORTABLE)
    topic = SimpleNamespace(name="a", results_by_partition=[part])
    answer.complete(
        SimpleNamespace(error_code=0, results_by_transaction=[SimpleNamespace(topic_results=[topic])])
    )
    assert promise.result() == {
        ("a", 0): ErrorCode.TRANSACTION_ABORTABLE,
        ("a", 1): ErrorCode.COORDINATOR_NOT_AVAILABLE,  # not answered
    }


def test_a_coordinator_that_cannot_be_asked_is_not_available(peers: Peers) -> None:
    unreachable = verifier(peers).add_or_verify("there", 7, 3, [("a", 0)], verify_only=True)
    peers.asked[THERE][2].fail(KafkaError(ErrorCode.NETWORK_EXCEPTION))
    nobody = verifier(peers).add_or_verify("lost", 7, 3, [("a", 0)], verify_only=True)
    for promise in (unreachable, nobody):
        with pytest.raises(KafkaError) as raised:
            promise.result()
        assert raised.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
