"""Producers and transactions as the brokers know them: described, listed, aborted, fenced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from penstock.client.api.admin.asking import Asking, by_topic, check, failure, refusal
from penstock.client.api.admin.results import Keyed, mapped
from penstock.protocol.apis import Api
from penstock.protocol.messages import milliseconds
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.coordinators import Kind
from penstock.wire.deadline import Deadline

_NOT_OPEN: Final = -1


class ProducerState(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    current_transaction_start_offset: int | None


class TransactionDescription(NamedTuple):
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int | None
    topic_partitions: tuple[TopicPartition, ...]


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str


class AbortTransactionSpec(NamedTuple):
    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    epoch: int


class DescribeProducersResult(Keyed[TopicPartition, list[ProducerState]]):
    def partition_result(self, partition: TopicPartition) -> Future[list[ProducerState]]:
        return self._values[TopicPartition(*partition)]


class DescribeTransactionsResult(Keyed[str, TransactionDescription]):
    def description(self, transactional_id: str) -> Future[TransactionDescription]:
        return self._values[transactional_id]


class FenceProducersResult(Keyed[str, ProducerIdAndEpoch]):
    fenced_producers = Keyed.values

    def producer_id(self, transactional_id: str) -> Future[int]:
        return mapped(self._values[transactional_id], lambda found: found.producer_id)

    def epoch_id(self, transactional_id: str) -> Future[int]:
        return mapped(self._values[transactional_id], lambda found: found.epoch)


class ListTransactionsResult:
    def __init__(self, found: Future[dict[int, list[TransactionListing]]]) -> None:
        self._found = found

    def all_by_broker_id(self) -> Future[dict[int, list[TransactionListing]]]:
        return self._found

    def all(self) -> Future[list[TransactionListing]]:
        return mapped(self._found, lambda found: sorted(one for each in found.values() for one in each))


class Transactions(Asking):
    def describe_producers(
        self, partitions: Collection[TopicPartition], *, timeout: float | None = None
    ) -> DescribeProducersResult:
        """Producers that wrote to each partition, as its leader remembers them."""
        wanted = [TopicPartition(*each) for each in partitions]

        def work(deadline: Deadline) -> Mapping[TopicPartition, Any]:
            def ask(node_id: int, led: list[TopicPartition]) -> Mapping[TopicPartition, Any]:
                topics = [
                    {"name": name, "partition_indexes": indexes} for name, indexes in by_topic(led).items()
                ]
                answer = self._ask(Api.DESCRIBE_PRODUCERS, {"topics": topics}, (0, 0), deadline, node_id)
                return {
                    TopicPartition(topic.name, each.partition_index): (
                        refusal(each, "describe producers")
                        or [_producer(one) for one in each.active_producers]
                    )
                    for topic in answer.topics
                    for each in topic.partitions
                }

            return self._at_leaders(wanted, ask, deadline)

        return self._each(DescribeProducersResult(wanted), "describe producers", work, timeout)

    def describe_transactions(
        self, transactional_ids: Collection[str], *, timeout: float | None = None
    ) -> DescribeTransactionsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._described_transaction(each, deadline) for each in transactional_ids}

        return self._each(
            DescribeTransactionsResult(transactional_ids), "describe transactions", work, timeout
        )

    def list_transactions(
        self,
        *,
        states: Collection[str] = (),
        producer_ids: Collection[int] = (),
        duration_ms: int = -1,
        timeout: float | None = None,
    ) -> ListTransactionsResult:
        """Of all brokers; those of these states, producers, or open for longer than `duration_ms`."""

        def work(deadline: Deadline) -> dict[int, list[TransactionListing]]:
            fields = {
                "state_filters": list(states),
                "producer_id_filters": list(producer_ids),
                "duration_filter": duration_ms,
                "transactional_id_pattern": None,
            }
            found: dict[int, list[TransactionListing]] = {}
            versions = (1 if duration_ms >= 0 else 0, 1)
            for node_id, answer in self._of_all_brokers(
                Api.LIST_TRANSACTIONS, fields, versions, deadline
            ).items():
                check(answer, "list transactions")
                found[node_id] = [
                    TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
                    for each in answer.transaction_states
                ]
            return found

        return ListTransactionsResult(self._one("list transactions", work, timeout))

    def abort_transaction(self, spec: AbortTransactionSpec, *, timeout: float | None = None) -> Future[None]:
        """Write an abort marker to one partition, for a transaction that hangs: no coordinator is asked."""
        at = TopicPartition(*spec.topic_partition)

        def work(deadline: Deadline) -> None:
            marker = {
                "producer_id": spec.producer_id,
                "producer_epoch": spec.producer_epoch,
                "transaction_result": False,
                "topics": [{"name": at.topic, "partition_indexes": [at.partition]}],
                "coordinator_epoch": spec.coordinator_epoch,
            }

            def ask(node_id: int, led: list[TopicPartition]) -> Mapping[TopicPartition, Any]:
                answer = self._ask(Api.WRITE_TXN_MARKERS, {"markers": [marker]}, (1, 1), deadline, node_id)
                part = answer.markers[0].topics[0].partitions[0]
                return {at: refusal(part, "abort a transaction")}

            found = self._at_leaders([at], ask, deadline)[at]
            if found is not None:
                raise found

        return self._one("abort a transaction", work, timeout)

    def fence_producers(
        self, transactional_ids: Collection[str], *, timeout: float | None = None
    ) -> FenceProducersResult:
        """No producer that has one of these ids can go on; an open transaction is aborted."""

        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._fenced(each, deadline) for each in transactional_ids}

        return self._each(FenceProducersResult(transactional_ids), "fence producers", work, timeout)

    def force_terminate_transaction(
        self, transactional_id: str, *, timeout: float | None = None
    ) -> Future[None]:
        """End whatever the id has open, and fence its producer."""
        found = self.fence_producers([transactional_id], timeout=timeout)
        return mapped(found.all(), lambda _: None)

    def _described_transaction(self, transactional_id: str, deadline: Deadline) -> Any:
        fields = {"transactional_ids": [transactional_id]}
        answer = self._at_coordinator(
            *(Kind.TRANSACTION, transactional_id, Api.DESCRIBE_TRANSACTIONS, fields, (0, 0), deadline),
            code=lambda found: int(found.transaction_states[0].error_code),
        )
        (part,) = answer.transaction_states
        return failure(part, f"describe transactional id {transactional_id!r}") or _transaction(part)

    def _fenced(self, transactional_id: str, deadline: Deadline) -> Any:
        fields = {
            "transactional_id": transactional_id,
            "transaction_timeout": max(1, int(deadline.remaining() * 1000)),
            "producer_id": -1,
            "producer_epoch": -1,
        }
        answer = self._at_coordinator(
            *(Kind.TRANSACTION, transactional_id, Api.INIT_PRODUCER_ID, fields, (0, 4), deadline),
            code=lambda found: int(found.error_code),
        )
        error = failure(answer, f"fence transactional id {transactional_id!r}")
        return error or ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)


def _producer(part: Any) -> ProducerState:
    start = part.current_txn_start_offset
    return ProducerState(
        part.producer_id,
        part.producer_epoch,
        part.last_sequence,
        part.last_timestamp,
        part.coordinator_epoch if part.coordinator_epoch >= 0 else None,
        None if start == _NOT_OPEN else start,
    )


def _transaction(part: Any) -> TransactionDescription:
    start = part.transaction_start_time
    return TransactionDescription(
        part.transactional_id,
        part.transaction_state,
        part.producer_id,
        part.producer_epoch,
        milliseconds(part.transaction_timeout),
        None if start is None else round(start.timestamp() * 1000),
        tuple(TopicPartition(topic.topic, index) for topic in part.topics for index in topic.partitions),
    )
