"""The transaction coordinator of a broker: finds the shard of a transactional id and asks it.

Every answer is a promise that is done when what it rests on is committed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from penstock.clock import Clock
from penstock.coordinator.decision import Context, Decision
from penstock.coordinator.promise import Promise, failed
from penstock.coordinator.runtime import Runtime, not_coordinator
from penstock.coordinator.sharding import shard_of
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.transactions.fresh_ids import ProducerIdNeeded
from penstock.transactions.initialising import Initialise
from penstock.transactions.markers import Ending, Markers
from penstock.transactions.settings import TransactionSettings
from penstock.transactions.shard import Identity, TransactionShard
from penstock.transactions.transaction import CLASSIC, EPOCH_PER_TRANSACTION, Transaction

TRANSACTIONS_TOPIC: Final = "__transaction_state"

_log = logging.getLogger(__name__)

T = TypeVar("T")


class TransactionCoordinator:
    """All transactional ids of this broker. `runtime` is driven by `server`."""

    def __init__(
        self,
        settings: TransactionSettings,
        clock: Clock,
        shard_count: Callable[[], int | None],
        new_producer_id: Callable[[], int],
        markers: Markers,
    ) -> None:
        self._settings = settings
        self._shard_count = shard_count
        self._new_producer_id = new_producer_id
        self._markers = markers

        def new_state(context: Context) -> TransactionShard:
            return TransactionShard(context, settings, self._send)

        self.topic = TRANSACTIONS_TOPIC
        self.runtime: Runtime[TransactionShard] = Runtime(TRANSACTIONS_TOPIC, clock, new_state)

    def topics_deleted(self, gone: Mapping[str, bytes]) -> None:
        """Nothing to do: a transaction that ends passes over partitions that are gone."""

    # The producer's requests

    def initialise(self, transactional_id: str, wish: Initialise) -> Promise[Identity]:
        """Producer id and epoch for the new user of the id. A producer that used it before is fenced."""
        promise: Promise[Identity] = Promise()
        try:
            check_transactional_id(transactional_id)
            if not 0 < wish.timeout_ms <= self._settings.max_timeout_ms:
                raise KafkaError(
                    ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                    f"A transaction lasts 1 to {self._settings.max_timeout_ms} milliseconds "
                    f"(transaction.max.timeout.ms), not {wish.timeout_ms}.",
                )
            index = self.shard_of(transactional_id)
            self._with_fresh_id(
                lambda fresh_id: self.runtime.submit(
                    index, lambda shard: shard.initialise(transactional_id, wish, fresh_id, promise)
                )
            )
        except KafkaError as error:
            promise.fail(error)
        return promise

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        verify_only: bool,
        version: int = EPOCH_PER_TRANSACTION,
    ) -> Promise[dict[TopicPartition, ErrorCode]]:
        """An error code for each partition; the promise fails when the id itself is not this producer's.

        Adding opens the transaction if none is open. Verifying changes nothing: TRANSACTION_ABORTABLE for a
        partition that is not in the open transaction (KIP-890).
        """
        producer = (producer_id, producer_epoch)
        if verify_only:
            return self._read(
                transactional_id, lambda shard: shard.verify(transactional_id, producer, partitions)
            )
        return self._ask(
            transactional_id, lambda shard: shard.add(transactional_id, producer, partitions, version)
        )

    def end(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        *,
        commit: bool,
        version: int = CLASSIC,
    ) -> Promise[Identity]:
        """Done when the end is decided for good. The identity is the one to go on with."""
        producer = (producer_id, producer_epoch)
        return self._with_fresh_id(
            lambda fresh_id: self._ask(
                transactional_id,
                lambda shard: shard.end(transactional_id, producer, commit, version, fresh_id),
            )
        )

    # Tools

    def describe(self, transactional_id: str) -> Promise[Transaction]:
        return self._read(transactional_id, lambda shard: shard.describe(transactional_id))

    def all(self) -> list[Promise[list[Transaction]]]:
        """Shard by shard. KafkaError when one is still loading: a list with holes would be believed."""
        if self.runtime.is_loading():
            raise KafkaError(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "Transactional ids are still being loaded."
            )
        return [self.runtime.read(index, lambda shard: shard.all()) for index in self.runtime.active_shards()]

    def shard_of(self, transactional_id: str) -> int:
        """The partition of the internal topic that holds the id."""
        count = self._shard_count()
        if count is None:
            raise not_coordinator(TRANSACTIONS_TOPIC, 0)
        return shard_of(transactional_id, count)

    # Inside

    def _send(self, ending: Ending) -> None:
        """Without a lock, when the end is committed."""
        self._markers.write(ending, lambda rest: self._tried(ending, rest))

    def _tried(self, ending: Ending, rest: frozenset[TopicPartition]) -> None:
        try:
            index = self.shard_of(ending.transactional_id)
            self.runtime.submit(index, lambda shard: shard.markers_tried(ending, rest))
        except KafkaError as error:
            # The broker that leads the shard now has read from the log that the markers are to be written.
            _log.info("the end of transaction %s is left to others: %s", ending.transactional_id, error)

    def _with_fresh_id(self, attempt: Callable[[int | None], T]) -> T:
        try:
            return attempt(None)
        except ProducerIdNeeded:
            return attempt(self._new_producer_id())

    def _ask(
        self, transactional_id: str, decide: Callable[[TransactionShard], tuple[Decision, T]]
    ) -> Promise[T]:
        try:
            check_transactional_id(transactional_id)
            return self.runtime.ask(self.shard_of(transactional_id), decide)
        except KafkaError as error:
            return failed(error)

    def _read(self, transactional_id: str, look: Callable[[TransactionShard], T]) -> Promise[T]:
        try:
            check_transactional_id(transactional_id)
            return self.runtime.read(self.shard_of(transactional_id), look)
        except KafkaError as error:
            return failed(error)


def check_transactional_id(transactional_id: str) -> None:
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The transactional id is empty.")
