"""What the real backend does with brokers and transactions. Blocking: `client_backend` calls it in
threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.client.admin import Admin, Partition, partitions_of
from penstock.client.direct import cluster_of
from penstock.client.direct_admin import DirectAdmin
from penstock.client.errors import BrokerRefused
from penstock.client.transactions import OpenTransaction, Transactions
from penstock.console.cluster_values import (
    Disks,
    HangingTransaction,
    LogDirectory,
    Quorum,
    QuorumReplica,
    TopicProducer,
    TransactionState,
    WrittenIn,
)
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.errors import WireError
from penstock.wire.fetch import FetchOptions, fetch

PRODUCERS_PARTITIONS_MAX = 50
"""Partitions of a topic that are asked for their producers, one by one."""
DESCRIBED_MAX = 200
"""Transactions whose details are asked for; the list names all of them."""


class Operations:
    def __init__(self, admin: Admin, settings: Mapping[str, Any] | None) -> None:
        self._admin = admin
        self._direct = DirectAdmin(admin.connection)
        self._transactions = Transactions(
            admin.connection.bootstrap_servers, timeout_s=admin.timeout_s, settings=settings
        )

    def empty_topic(self, name: str) -> int:
        topic = self._admin.topic(name)
        ends = {
            TopicPartition(name, p.index): p.high_watermark
            for p in topic.partitions
            if p.high_watermark is not None
        }
        self._direct.delete_records(ends).result(self._admin.timeout_s + 1)
        return sum(p.records or 0 for p in topic.partitions)

    # -- brokers

    def disks(self) -> Disks:
        brokers = [broker.node_id for broker in self._admin.cluster().brokers]
        found = self._direct.describe_log_dirs(brokers).values()
        directories: list[LogDirectory] = []
        sizes: dict[Partition, int] = {}
        for broker, future in found.items():
            for path, described in future.result(self._admin.timeout_s + 1).items():
                replicas = described.replica_infos
                for at, info in replicas.items():
                    partition = (at.topic, at.partition)
                    sizes[partition] = max(sizes.get(partition, 0), info.size)
                directories.append(
                    LogDirectory(
                        broker,
                        path,
                        sum(info.size for info in replicas.values()),
                        len(replicas),
                        described.total_bytes,
                        described.usable_bytes,
                        str(described.error or ""),
                    )
                )
        return Disks(tuple(directories), sizes)

    def quorum(self) -> Quorum:
        found = self._direct.describe_metadata_quorum().result(self._admin.timeout_s + 1)
        leader_end = max((each.log_end_offset for each in (*found.voters, *found.observers)), default=0)
        replicas = tuple(
            QuorumReplica(
                each.replica_id,
                each in found.voters,
                each.log_end_offset,
                max(0, leader_end - each.log_end_offset),
                each.last_caught_up_timestamp,
            )
            for each in (*found.voters, *found.observers)
        )
        return Quorum(found.leader_id, found.leader_epoch, found.high_watermark, replicas)

    # -- records

    def written_in(self, topic: str, partition: int, offset: int) -> WrittenIn | None:
        options = FetchOptions(max_bytes=1, max_wait_ms=100, idle_seconds=self._admin.timeout_s)
        cluster = cluster_of(self._admin.connection)
        try:
            batches = fetch(cluster, TopicPartition(topic, partition), offset, offset + 1, options)
            header = next((batch.header for batch in batches), None)
        except WireError as error:
            raise BrokerRefused(
                f"The batch of offset {offset:,} cannot be read: {error}", type(error).__name__
            ) from error
        if header is None or not header.base_offset <= offset <= header.last_offset:
            return None
        producer = None if header.producer_id < 0 else header.producer_id
        return WrittenIn(
            header.base_offset,
            header.records_count,
            header.size_bytes,
            header.codec.name.lower(),
            header.leader_epoch,
            producer,
            header.producer_epoch,
            header.is_transactional,
            self._transactional_id(producer) if header.is_transactional else "",
        )

    def _transactional_id(self, producer_id: int | None) -> str:
        if producer_id is None:
            return ""
        found = self._transactions.listed(producer_ids=(producer_id,))
        return next((each.transactional_id for each in found), "")

    def producers(self, topic: str) -> list[TopicProducer]:
        partitions = [TopicPartition(topic, p.index) for p in self._admin.topic(topic).partitions]
        found = self._transactions.producers_of(partitions[:PRODUCERS_PARTITIONS_MAX])
        wanted = sorted({each.producer_id for each in found})
        listed = self._transactions.listed(producer_ids=wanted) if wanted else []
        names = {each.producer_id: each.transactional_id for each in listed}
        return [
            TopicProducer(
                each.partition.partition,
                each.producer_id,
                each.producer_epoch,
                each.last_timestamp_ms,
                each.start_offset is not None,
                names.get(each.producer_id, ""),
            )
            for each in found
        ]

    # -- transactions

    def transactions(self) -> list[TransactionState]:
        listed = self._transactions.listed()
        details = [self._transactions.describe(each.transactional_id) for each in listed[:DESCRIBED_MAX]]
        return [
            TransactionState(
                each.transactional_id,
                each.coordinator,
                each.producer_id,
                each.producer_epoch,
                each.state,
                each.timeout_ms,
                each.start_ms,
                tuple((at.topic, at.partition) for at in each.partitions),
            )
            for each in details
        ]

    def hanging_transactions(self, older_than_ms: int) -> list[HangingTransaction]:
        there = partitions_of(self._admin.topics(with_offsets=False))
        partitions = [TopicPartition(topic, index) for topic, index in there]
        return [
            HangingTransaction(
                each.partition.topic,
                each.partition.partition,
                each.producer_id,
                each.producer_epoch,
                each.coordinator_epoch,
                each.start_offset,
                each.last_timestamp_ms,
            )
            for each in self._transactions.hanging(partitions, older_than_ms=older_than_ms)
        ]

    def abort_transaction(self, transaction: HangingTransaction) -> None:
        self._transactions.abort(
            OpenTransaction(
                TopicPartition(transaction.topic, transaction.partition),
                transaction.producer_id,
                transaction.producer_epoch,
                transaction.coordinator_epoch,
                transaction.start_offset,
                transaction.last_timestamp_ms,
            )
        )
