"""`Transactions`: transactional ids and what they have open, for a person who looks after a cluster.
Transactions that hang are found and aborted, as Kafka's own tool does it (KIP-664).

librdkafka has none of this, so it goes over `penstock.wire`. Called by the command line.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from penstock.client import errors
from penstock.client.direct import cluster_of
from penstock.client.errors import BrokerRefused, BrokerUnreachable, ClientError, TopicNotFound
from penstock.client.librdkafka import Connection as LibraryConnection
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.connection import Connection
from penstock.wire.coordinators import Coordinator, Kind
from penstock.wire.deadline import Deadline
from penstock.wire.errors import (
    DeadlineExceeded,
    NotAuthenticated,
    Refused,
    Unreachable,
    WireError,
    error_code,
)

NOT_OPEN: Final = -1


class TransactionListing(NamedTuple):
    transactional_id: str
    coordinator: int
    """The id of the broker that answers for it."""
    producer_id: int
    state: str


class TransactionDetail(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TopicPartition, ...]


class OpenTransaction(NamedTuple):
    """A producer that has a transaction open in a partition."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp_ms: int


class KnownProducer(NamedTuple):
    """An idempotent or transactional producer that a partition remembers."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    last_timestamp_ms: int
    start_offset: int | None
    """Of the transaction that it has open here; None when it has none."""


class Transactions:
    def __init__(
        self, bootstrap_servers: str, *, timeout_s: float = 10.0, settings: Mapping[str, Any] | None = None
    ) -> None:
        """`settings` are the client's, such as Kafka's security settings."""
        self._bootstrap_servers = bootstrap_servers
        self._timeout_s = timeout_s
        self._cluster = cluster_of(LibraryConnection(bootstrap_servers, timeout_s, settings))

    def listed(
        self, *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), longer_than_ms: int = -1
    ) -> list[TransactionListing]:
        """Every broker is asked for what it coordinates."""
        fields = {
            "state_filters": states,
            "producer_id_filters": producer_ids,
            "duration_filter": longer_than_ms,
        }
        found = []
        with self._asking() as deadline:
            for node_id in self._cluster.brokers(deadline):
                answer = self._call(node_id, Api.LIST_TRANSACTIONS, fields, (0, 1), deadline)
                _check(answer.error_code, "list the transactions")
                if answer.unknown_state_filters:
                    raise ClientError(f"There is no state {', '.join(answer.unknown_state_filters)}.")
                found += [
                    TransactionListing(one.transactional_id, node_id, one.producer_id, one.transaction_state)
                    for one in answer.transaction_states
                ]
        return sorted(found)

    def describe(self, transactional_id: str) -> TransactionDetail:
        with self._asking() as deadline:
            return self._describe(transactional_id, deadline)

    def open_in(self, partitions: Iterable[TopicPartition]) -> list[OpenTransaction]:
        """Whatever is open in these partitions."""
        with self._asking() as deadline:
            return [each for partition in partitions for each in self._open_in(partition, deadline)]

    def partitions(self, topic: str | None = None) -> list[TopicPartition]:
        """Those of a topic, or all there are."""
        with self._asking() as deadline:
            found = self._cluster.topics(None if topic is None else [topic], deadline)
        if topic is not None and topic not in found:
            raise TopicNotFound(topic)
        return [TopicPartition(name, index) for name, info in found.items() for index in info.partitions]

    def hanging(
        self, partitions: Iterable[TopicPartition], *, older_than_ms: int, now_ms: int | None = None
    ) -> list[OpenTransaction]:
        """What is open in a partition and for which no coordinator will ever write a marker: nothing was
        written to it for longer than any transaction may last, and its transactional id is unknown or does
        not have the partition open."""
        now_ms = int(time.time() * 1000) if now_ms is None else now_ms
        old = [each for each in self.open_in(partitions) if now_ms - each.last_timestamp_ms > older_than_ms]
        if not old:
            return []
        names = {
            listing.producer_id: listing.transactional_id
            for listing in self.listed(producer_ids=sorted({each.producer_id for each in old}))
        }
        expected = {
            producer_id: self._partitions_of(transactional_id)
            for producer_id, transactional_id in names.items()
        }
        return [each for each in old if each.partition not in expected.get(each.producer_id, ())]

    def abort(self, transaction: OpenTransaction) -> None:
        """Write an abort marker to the partition. For a transaction that hangs: its coordinator is not asked,
        and one that is alive would write its own marker later."""
        topic, index = transaction.partition
        marker = {
            "producer_id": transaction.producer_id,
            "producer_epoch": transaction.producer_epoch,
            "transaction_result": False,
            "topics": [{"name": topic, "partition_indexes": [index]}],
            "coordinator_epoch": transaction.coordinator_epoch,
        }
        with self._asking() as deadline:
            leader = self._cluster.leader(transaction.partition, deadline).node_id
            answer = self._call(leader, Api.WRITE_TXN_MARKERS, {"markers": [marker]}, (1, 1), deadline)
        _check(answer.markers[0].topics[0].partitions[0].error_code, f"abort in {transaction.partition}")

    # Inside

    def _describe(self, transactional_id: str, deadline: Deadline) -> TransactionDetail:
        coordinator = Coordinator(self._cluster, Kind.TRANSACTION, transactional_id)

        def request(connection: Connection) -> Any:
            fields = {"transactional_ids": [transactional_id]}
            answer = connection.call(Api.DESCRIBE_TRANSACTIONS, fields, deadline, oldest=0, newest=0)
            (found,) = answer.transaction_states
            code = error_code(found.error_code)
            if code is not ErrorCode.NONE:
                raise Refused(code, f"the broker says {code.name} of transactional id {transactional_id!r}")
            return found

        found = coordinator.ask(f"transactional id {transactional_id!r}", request, deadline)
        start = found.transaction_start_time
        return TransactionDetail(
            transactional_id,
            coordinator.node_id,
            found.producer_id,
            found.producer_epoch,
            found.transaction_state,
            round(found.transaction_timeout.total_seconds() * 1000),
            None if start is None else round(start.timestamp() * 1000),
            tuple(TopicPartition(topic.topic, index) for topic in found.topics for index in topic.partitions),
        )

    def _partitions_of(self, transactional_id: str) -> tuple[TopicPartition, ...]:
        try:
            return self.describe(transactional_id).partitions
        except BrokerRefused as error:
            if error.kafka_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND.name:
                return ()
            raise

    def _open_in(self, partition: TopicPartition, deadline: Deadline) -> Iterator[OpenTransaction]:
        leader = self._cluster.leader(partition, deadline).node_id
        fields = {"topics": [{"name": partition.topic, "partition_indexes": [partition.partition]}]}
        answer = self._call(leader, Api.DESCRIBE_PRODUCERS, fields, (0, 0), deadline)
        (found,) = answer.topics[0].partitions
        _check(found.error_code, f"describe the producers of {partition}")
        for producer in found.active_producers:
            if producer.current_txn_start_offset != NOT_OPEN:
                yield OpenTransaction(
                    partition,
                    producer.producer_id,
                    producer.producer_epoch,
                    max(producer.coordinator_epoch, 0),
                    producer.current_txn_start_offset,
                    producer.last_timestamp,
                )

    def producers_of(self, partitions: Iterable[TopicPartition]) -> list[KnownProducer]:
        """What each partition remembers of its producers."""
        with self._asking() as deadline:
            return [found for each in partitions for found in self._producers(each, deadline)]

    def _producers(self, partition: TopicPartition, deadline: Deadline) -> Iterator[KnownProducer]:
        leader = self._cluster.leader(partition, deadline).node_id
        fields = {"topics": [{"name": partition.topic, "partition_indexes": [partition.partition]}]}
        answer = self._call(leader, Api.DESCRIBE_PRODUCERS, fields, (0, 0), deadline)
        (found,) = answer.topics[0].partitions
        _check(found.error_code, f"describe the producers of {partition}")
        for each in found.active_producers:
            start = each.current_txn_start_offset
            yield KnownProducer(
                partition,
                each.producer_id,
                each.producer_epoch,
                each.last_timestamp,
                None if start == NOT_OPEN else start,
            )

    def _call(
        self,
        node_id: int,
        api: Api,
        fields: Mapping[str, Any],
        versions: tuple[int, int],
        deadline: Deadline,
    ) -> Any:
        with self._cluster.connection(node_id, deadline) as connection:
            return connection.call(api, fields, deadline, oldest=versions[0], newest=versions[1])

    @contextmanager
    def _asking(self) -> Iterator[Deadline]:
        """Errors of the wire as those of this package."""
        try:
            yield Deadline(self._timeout_s)
        except (Unreachable, DeadlineExceeded) as error:
            raise BrokerUnreachable(self._bootstrap_servers, self._timeout_s, str(error)) from error
        except NotAuthenticated as error:
            raise errors.NotAuthenticated(self._bootstrap_servers, str(error)) from error
        except Refused as error:
            raise BrokerRefused(str(error), error.code.name) from error
        except WireError as error:
            raise ClientError(str(error)) from error


def _check(number: int, doing: str) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise BrokerRefused(f"Could not {doing}: the broker says {code.name}.", code.name)
