"""Whether a partition belongs to an open transaction, asked of its coordinator wherever that is: here, or
on another broker by AddPartitionsToTxn (KIP-890). Brokers ask it before the first batch of a transaction
is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.server.cluster.cluster_markers import Asks
from penstock.transactions.coordinator import TRANSACTIONS_TOPIC, TransactionCoordinator

VERSIONS: Final = (4, 5)

Codes = dict[TopicPartition, ErrorCode]


class TransactionsAnywhere:
    """Speaks `handlers.broker:Verifier`."""

    def __init__(
        self,
        node_id: int,
        local: TransactionCoordinator,
        peers: Asks,
        leader_of: Callable[[str, int], int | None],
    ) -> None:
        self._node_id = node_id
        self._local = local
        self._peers = peers
        self._leader_of = leader_of

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        verify_only: bool,
    ) -> Promise[Codes]:
        """An error code for each partition; the promise fails when the coordinator cannot be asked."""
        try:
            leader = self._leader_of(TRANSACTIONS_TOPIC, self._local.shard_of(transactional_id))
        except KafkaError as error:
            return failed(error)
        if leader is None:
            return failed(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator has no leader."))
        if leader == self._node_id:
            return self._local.add_or_verify(
                transactional_id, producer_id, producer_epoch, partitions, verify_only=verify_only
            )
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        transaction = {
            "transactional_id": transactional_id,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "verify_only": verify_only,
            "topics": [{"name": name, "partitions": indexes} for name, indexes in topics.items()],
        }
        asked = self._peers.ask(leader, Api.ADD_PARTITIONS_TO_TXN, VERSIONS, {"transactions": [transaction]})
        return _Answered(asked, partitions).codes


class _Answered:
    """Turns the other broker's answer into codes when it comes."""

    def __init__(self, answer: Promise[Any], partitions: Sequence[TopicPartition]) -> None:
        self._answer = answer
        self._partitions = partitions
        self.codes: Promise[Codes] = Promise()
        answer.watch(self)

    def wake(self) -> None:
        try:
            answer = self._answer.result()
        except KafkaError as error:
            self.codes.fail(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message))
            return
        if answer.error_code:
            self.codes.fail(KafkaError(ErrorCode(answer.error_code), "The coordinator refused the question."))
            return
        codes = {
            (topic.name, part.partition_index): ErrorCode(part.partition_error_code)
            for transaction in answer.results_by_transaction
            for topic in transaction.topic_results
            for part in topic.results_by_partition
        }
        missing = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.codes.complete({place: codes.get(place, missing) for place in self._partitions})
