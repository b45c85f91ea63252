"""Whether the transactional batches of a Produce request belong to the transaction that is open (KIP-890).

The partition is asked first: where this transaction has written before, nothing more is needed. For the
others it gives a guard, and the coordinator is asked: from v12 on it adds the partitions, before it only
verifies that they were added. `handlers.apis.produce` asks again for a while if the producer's last
transaction is still ending, appends when the answer is there, and shows the guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

from penstock.coordinator.promise import Promise
from penstock.handlers.parts import DataParts
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.produce import ProduceRequest
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import CRC_START, HEADER_SIZE, TRANSACTIONAL_FLAG, CorruptBatch, read_header
from penstock.replication.partition import Partition
from penstock.security.operations import Operation, ResourceType
from penstock.storage.verification import Guard

ADDS_IMPLICITLY_FROM: Final = 12
ABORTABLE_FROM: Final = 11


class Batch(NamedTuple):
    """The batch for a partition that is here and may be written to."""

    place: TopicPartition
    partition: Partition
    records: memoryview


def is_transactional(produce: ProduceRequest) -> bool:
    """Whether anything has to be admitted; for all other requests there is nothing to do here."""
    for topic in produce.topics:
        for data in topic.partitions:
            if data.records is not None and _is_transactional(data.records):
                return True
    return False


def _is_transactional(records: memoryview) -> bool:
    return len(records) >= HEADER_SIZE and bool(records[CRC_START + 1] & TRANSACTIONAL_FLAG)


Ask = Callable[[], Promise[dict[TopicPartition, ErrorCode]]]
"""Asks the coordinator about the partitions of a request."""


class Admission:
    """What is known of the batches of one request."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._guards: dict[TopicPartition, Guard] = {}
        self._refusals: dict[TopicPartition, KafkaError] = {}
        self._ask: Ask | None = None
        self.promise: Promise[dict[TopicPartition, ErrorCode]] | None = None

    @property
    def is_pending(self) -> bool:
        return self.promise is not None and not self.promise.done

    @property
    def comes_too_soon(self) -> bool:
        """Whether the producer's transaction before this one is still ending. The coordinator answers its
        EndTxn before all markers are written, so that is usual, and over in milliseconds."""
        if self.promise is None or not self.promise.done or self._version < ADDS_IMPLICITLY_FROM:
            return False
        try:
            return ErrorCode.CONCURRENT_TRANSACTIONS in self.promise.result().values()
        except KafkaError as error:
            return error.code is ErrorCode.CONCURRENT_TRANSACTIONS

    def ask(self, ask: Ask) -> None:
        self._ask = ask
        self.promise = ask()

    def ask_again(self) -> None:
        assert self._ask is not None
        self.promise = self._ask()

    def guard(self, place: TopicPartition) -> Guard | None:
        """What to show with the batch; KafkaError when it must not be appended."""
        if place in self._refusals:
            raise self._refusals[place]
        guard = self._guards.get(place)
        if guard is not None:
            self._check_answer(place)
        return guard

    def refuse(self, batches: Iterable[Batch], error: KafkaError) -> None:
        self._refusals.update({batch.place: error for batch in batches})

    def begin(self, batch: Batch, producer_id: int, producer_epoch: int, sequence: int) -> None:
        guard = batch.partition.begin_verification(
            producer_id, producer_epoch, sequence, epoch_bump=self._version >= ADDS_IMPLICITLY_FROM
        )
        if guard is not None:
            self._guards[batch.place] = guard

    @property
    def asked(self) -> list[TopicPartition]:
        """The partitions that the coordinator has to answer for."""
        return list(self._guards)

    def _check_answer(self, place: TopicPartition) -> None:
        assert self.promise is not None
        if not self.promise.done:
            raise _retriable("The coordinator did not answer in time.")
        try:
            code = self.promise.result()[place]
        except KafkaError as error:
            raise self._as_told(error.code, error.message) from None
        if code is not ErrorCode.NONE:
            raise self._as_told(code, "Partition was not added to the transaction")

    def _as_told(self, code: ErrorCode, message: str) -> KafkaError:
        if code in _RETRIABLE:
            return _retriable(f"Underlying error: {code.name}")
        if code is ErrorCode.TRANSACTION_ABORTABLE and self._version < ABORTABLE_FROM:
            return KafkaError(ErrorCode.INVALID_TXN_STATE, message)
        if code is ErrorCode.PRODUCER_FENCED:
            # The producer may abort and go on; that it is fenced it hears from the coordinator.
            return KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
        return KafkaError(code, message)


NOTHING_ASKED: Final = Admission(ADDS_IMPLICITLY_FROM)
"""Of a request without batches of transactions."""


def admit(
    request: Request, broker: DataParts, transactional_id: str | None, batches: Iterable[Batch]
) -> Admission:
    """Begin to verify what is transactional among `batches`."""
    admission = Admission(request.version)
    transactional = [batch for batch in batches if _is_transactional(batch.records)]
    if not transactional:
        return admission
    if transactional_id is None or not request.may(
        broker, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
    ):
        message = f"Not authorized to write as transactional id {transactional_id}."
        refusal = KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, message)
        admission.refuse(transactional, refusal)
        return admission
    adding = request.version >= ADDS_IMPLICITLY_FROM
    if adding or broker.settings.transaction_partition_verification_enable:
        try:
            _ask(broker, admission, transactional_id, transactional, verify_only=not adding)
        except KafkaError as error:
            admission.refuse(transactional, error)
    return admission


def _ask(
    broker: DataParts,
    admission: Admission,
    transactional_id: str,
    batches: list[Batch],
    *,
    verify_only: bool,
) -> None:
    try:
        headers = [read_header(batch.records) for batch in batches]
    except CorruptBatch:
        return  # the log says what is wrong with it
    identities = {(header.producer_id, header.producer_epoch) for header in headers}
    if len(identities) > 1:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING, "Transactional records contained more than one producer ID"
        )
    (identity,) = identities
    for batch, header in zip(batches, headers, strict=True):
        admission.begin(batch, *identity, header.base_sequence)
    if admission.asked:
        verify = broker.verifier.add_or_verify
        admission.ask(partial(verify, transactional_id, *identity, admission.asked, verify_only=verify_only))


_RETRIABLE: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def _retriable(message: str) -> KafkaError:
    """An error that makes every client try the batch again, without asking for metadata; Kafka's choice."""
    return KafkaError(
        ErrorCode.NOT_ENOUGH_REPLICAS,
        f"Unable to verify the partition has been added to the transaction. {message}",
    )
