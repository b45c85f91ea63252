"""Markers for transactions that end, written to every partition wherever it is led: here by
`LocalMarkers`, on other brokers by WriteTxnMarkers. Either way a partition is done when its marker is
committed: a marker that died with its leader would leave the transaction open for ever."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, Final, Protocol

from penstock.coordinator.promise import Promise
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.replication.markers import TransactionMarker
from penstock.server.cluster.local_markers import LocalMarkers
from penstock.transactions.markers import Ending

VERSIONS: Final = (1, 2)

_log = logging.getLogger(__name__)


class Asks(Protocol):
    """The way to other brokers: `server.cluster.peers:Peers`."""

    def ask(
        self, node_id: int, api: Api, versions: tuple[int, int], fields: dict[str, Any]
    ) -> Promise[Any]: ...


class ClusterMarkers:
    """Speaks `transactions.markers:Markers`. `leader_of` gives the broker that leads a partition, None
    where there is none at the moment."""

    def __init__(
        self, node_id: int, local: LocalMarkers, peers: Asks, leader_of: Callable[[str, int], int | None]
    ) -> None:
        self._node_id = node_id
        self._local = local
        self._peers = peers
        self._leader_of = leader_of

    def write(self, ending: Ending, done: Callable[[frozenset[TopicPartition]], None]) -> None:
        gathering = _Gathering(ending.partitions, done)
        elsewhere: dict[int, list[TopicPartition]] = {}
        here = []
        for place in sorted(ending.partitions):
            leader = self._leader_of(*place)
            if leader is None or leader == self._node_id:
                here.append(place)  # what has no leader is found out there: it is gone, or it is tried again
            else:
                elsewhere.setdefault(leader, []).append(place)
        for leader, places in elsewhere.items():
            _Sent(leader, self._ask(leader, ending, places), places, gathering).watch()
        marker = TransactionMarker(
            ending.producer_id,
            ending.producer_epoch,
            ending.coordinator_epoch,
            ending.commit,
            ending.transaction_version,
        )
        for place in here:
            self._local.write(marker, *place, lambda ended, place=place: gathering.add(place, ended))  # type: ignore[misc]
        gathering.complete()

    def _ask(self, leader: int, ending: Ending, places: Iterable[TopicPartition]) -> Promise[Any]:
        topics: dict[str, list[int]] = {}
        for topic, index in places:
            topics.setdefault(topic, []).append(index)
        marker = {
            "producer_id": ending.producer_id,
            "producer_epoch": ending.producer_epoch,
            "transaction_result": ending.commit,
            "topics": [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()],
            "coordinator_epoch": ending.coordinator_epoch,
            "transaction_version": ending.transaction_version,
        }
        return self._peers.ask(leader, Api.WRITE_TXN_MARKERS, VERSIONS, {"markers": [marker]})


class _Gathering:
    """Counts partitions until each is known to have its marker or not; then `done` is called, once."""

    def __init__(
        self, partitions: frozenset[TopicPartition], done: Callable[[frozenset[TopicPartition]], None]
    ) -> None:
        self._lock = Lock()
        self._open = len(partitions)
        self._rest: set[TopicPartition] = set()
        self._done = done

    def add(self, place: TopicPartition, ended: bool) -> None:
        with self._lock:
            if not ended:
                self._rest.add(place)
            self._open -= 1
            last = self._open == 0
        if last:
            self._done(frozenset(self._rest))

    def complete(self) -> None:
        """For an end without partitions."""
        if self._open == 0 and not self._rest:
            self._open = -1
            self._done(frozenset())


class _Sent:
    """Markers on their way to another broker."""

    def __init__(
        self, leader: int, answer: Promise[Any], places: list[TopicPartition], gathering: _Gathering
    ) -> None:
        self._leader = leader
        self._answer = answer
        self._places = places
        self._gathering = gathering

    def watch(self) -> None:
        self._answer.watch(self)

    def wake(self) -> None:
        try:
            answer = self._answer.result()
            codes = {
                (topic.name, part.partition_index): ErrorCode(part.error_code)
                for marker in answer.markers
                for topic in marker.topics
                for part in topic.partitions
            }
        except KafkaError as error:
            _log.info("broker %d was not told the end of a transaction: %s", self._leader, error)
            codes = {}
        for place in self._places:
            code = codes.get(place, ErrorCode.NETWORK_EXCEPTION)
            self._gathering.add(place, code in (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH))
