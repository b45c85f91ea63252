"""Everything that one partition of `__transaction_state` holds: transactional ids and their transactions.

State changes by replay; beside it there are timers and the last epochs (`Transaction.last_producer_epoch`).
A shard that is loaded again writes the markers of every transaction that it finds prepared.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.coordinator.shard_log import Entry, Marker
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.transactions.adding import decide_add, verify
from penstock.transactions.ending import (
    completed,
    decide_end,
    decide_end_raising_epoch,
    fence,
    identity_after,
)
from penstock.transactions.initialising import Initialise, decide_initialise
from penstock.transactions.markers import Ending
from penstock.transactions.settings import TransactionSettings
from penstock.transactions.transaction import EPOCH_PER_TRANSACTION, State, Transaction
from penstock.transactions.transaction_records import decode_key, decode_value, tombstone, transaction_record

_EXPIRY: Final = "expire transactional ids"
_EXPIRED_AT_ONCE: Final = 1000  # tombstones in one batch
_RETRY_MS: Final = 500

Identity = tuple[int, int]
"""Producer id and epoch."""

_log = logging.getLogger(__name__)


class TransactionShard:
    """State of one shard, and its decisions. `send` takes an ending that is committed, without the lock."""

    def __init__(
        self, context: Context, settings: TransactionSettings, send: Callable[[Ending], None]
    ) -> None:
        self._context = context
        self._settings = settings
        self._send = send
        self._transactions: dict[str, Transaction] = {}

    # Replay

    def replay(self, entry: Entry) -> None:
        record = entry.record
        transactional_id = None if record.key is None else decode_key(record.key)
        if transactional_id is None:
            return
        if record.value is None:
            self._transactions.pop(transactional_id, None)
        else:
            self._transactions[transactional_id] = decode_value(transactional_id, record.value)

    def replay_marker(self, marker: Marker) -> None:
        """No transaction writes to this topic."""

    def on_loaded(self) -> None:
        for transaction in self._transactions.values():
            if transaction.is_ending:
                self._send_markers(transaction)
            elif transaction.is_open:
                self._watch_timeout(transaction)
        self._context.schedule(_EXPIRY, self._settings.expiry_interval_ms, self._expire)

    def on_unloaded(self, error: KafkaError) -> None:
        """No request waits inside a shard: every answer rests on records alone."""

    # Requests

    def initialise(
        self, transactional_id: str, wish: Initialise, fresh_id: int | None, promise: Promise[Identity]
    ) -> Decision:
        present = self._transactions.get(transactional_id)
        decided = decide_initialise(transactional_id, present, wish, fresh_id, self._context.now_ms())

        def answer() -> None:
            if decided.is_ending:
                self._context.fail(promise, concurrent("It is aborted first; ask again when that is done."))
            else:
                self._context.complete(promise, (decided.producer_id, decided.producer_epoch))

        return self._write(decided, answer, lambda error: self._context.fail(promise, error))

    def add(
        self, transactional_id: str, producer: Identity, partitions: Iterable[TopicPartition], version: int
    ) -> tuple[Decision, dict[TopicPartition, ErrorCode]]:
        present, wanted = self._transactions.get(transactional_id), list(partitions)
        decided = decide_add(present, *producer, wanted, version, self._context.now_ms())
        decision = NOTHING if decided is None else self._write(decided)
        return decision, dict.fromkeys(wanted, ErrorCode.NONE)

    def verify(
        self, transactional_id: str, producer: Identity, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        return verify(self._transactions.get(transactional_id), *producer, partitions)

    def end(
        self, transactional_id: str, producer: Identity, commit: bool, version: int, fresh_id: int | None
    ) -> tuple[Decision, Identity]:
        """The identity is the one with which the producer goes on; it changes from version 2 on."""
        present, now_ms = self._transactions.get(transactional_id), self._context.now_ms()
        if version >= EPOCH_PER_TRANSACTION:
            decided = decide_end_raising_epoch(present, *producer, commit, fresh_id, now_ms)
        else:
            decided = decide_end(present, *producer, commit, now_ms)
        if decided is not None:
            return self._write(decided), identity_after(decided)
        assert present is not None
        return NOTHING, (present.producer_id, present.producer_epoch)

    # Tools

    def describe(self, transactional_id: str) -> Transaction:
        found = self._transactions.get(transactional_id)
        if found is None:
            raise KafkaError(
                ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, f"There is no transactional id {transactional_id}."
            )
        return found

    def all(self) -> list[Transaction]:
        return list(self._transactions.values())

    # Markers

    def markers_tried(self, ending: Ending, rest: frozenset[TopicPartition]) -> Decision:
        """Markers were written to all partitions but `rest`, which is tried again later."""
        present = self._transactions.get(ending.transactional_id)
        if present is None or not _is_end_of(ending, present):
            return NOTHING  # another attempt has completed it
        key = ("markers", ending.transactional_id)
        if rest:
            again = ending._replace(partitions=rest)
            self._context.schedule(key, _RETRY_MS, lambda: self._send_again(again))
            return NOTHING

        def failed(error: KafkaError) -> None:
            _log.warning("the end of transaction %s is written later: %s", ending.transactional_id, error)
            self._context.schedule(key, _RETRY_MS, lambda: self.markers_tried(ending, frozenset()))

        return self._write(completed(present, self._context.now_ms()), failed=failed)

    def _send_again(self, ending: Ending) -> Decision:
        self._context.when_committed(lambda: self._send(ending))
        return NOTHING

    def _send_markers(self, prepared: Transaction) -> None:
        ending = Ending(
            prepared.transactional_id,
            prepared.producer_id,
            prepared.producer_epoch,
            self._context.epoch,
            prepared.state is State.PREPARE_COMMIT,
            prepared.version,
            prepared.partitions,
        )
        self._context.when_committed(lambda: self._send(ending))

    # Time

    def _watch_timeout(self, transaction: Transaction) -> None:
        left_ms = transaction.start_ms + transaction.timeout_ms - self._context.now_ms()
        # It may have begun at another node, whose clock is ahead of ours.
        bounded_ms = max(0, min(left_ms, transaction.timeout_ms))
        self._schedule_timeout(transaction.transactional_id, bounded_ms)

    def _schedule_timeout(self, transactional_id: str, delay_ms: int) -> None:
        self._context.schedule_if_absent(
            ("timeout", transactional_id), delay_ms, lambda: self._time_out(transactional_id)
        )

    def _time_out(self, transactional_id: str) -> Decision:
        present = self._transactions.get(transactional_id)
        if present is None or not present.is_open:
            return NOTHING
        _log.info("transaction %s is aborted: it took more than %d ms", transactional_id, present.timeout_ms)
        return self._write(
            fence(present, self._context.now_ms()),
            failed=lambda _: self._schedule_timeout(transactional_id, _RETRY_MS),
        )

    def _expire(self) -> Decision:
        """Forget ids that no producer has used for long. Ids with a transaction are in use."""
        now_ms = self._context.now_ms()
        expired = [
            transaction.transactional_id
            for transaction in self._transactions.values()
            if not (transaction.is_open or transaction.is_ending)
            and now_ms - transaction.update_ms >= self._settings.id_expiration_ms
        ][:_EXPIRED_AT_ONCE]
        more = len(expired) == _EXPIRED_AT_ONCE
        self._context.schedule(_EXPIRY, 0 if more else self._settings.expiry_interval_ms, self._expire)
        return Decision(tuple(tombstone(transactional_id, now_ms) for transactional_id in expired))

    # Inside

    def _write(
        self,
        decided: Transaction,
        after: Callable[[], None] | None = None,
        failed: Callable[[KafkaError], None] | None = None,
    ) -> Decision:
        def replayed() -> None:
            transactional_id = decided.transactional_id
            known = self._transactions[transactional_id]
            self._transactions[transactional_id] = replace(
                known, last_producer_epoch=decided.last_producer_epoch
            )
            self._follow(decided)
            if after is not None:
                after()

        return Decision((transaction_record(decided),), replayed, failed)

    def _follow(self, decided: Transaction) -> None:
        """What a transition entails beside the record."""
        if decided.is_open:
            self._watch_timeout(decided)
            return
        self._context.cancel(("timeout", decided.transactional_id))
        if decided.is_ending:
            self._send_markers(decided)


def _is_end_of(ending: Ending, present: Transaction) -> bool:
    same = (ending.producer_id, ending.producer_epoch) == (present.producer_id, present.producer_epoch)
    return same and present.is_ending


def concurrent(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, message)
