"""Transactions from the client's side: one owner of a transactional id, any number of writers.

`TransactionOwner` begins, commits and aborts; it lives in one place (Spark's driver). What it hands out, a
`Transaction`, is a few numbers that travel to whoever writes: any connection may produce under them
(`penstock.wire.produce`), as long as each partition has one writer, because sequence numbers are per
partition.

There are two ways to speak of transactions, and a transaction is spoken of in one of them only. In version 2
(KIP-890) a produced batch joins its partition to the transaction and every end gives the next epoch; before,
partitions are added by a request of their own and an epoch is bumped by asking. Which one holds is what the
cluster has finalised as `transaction.version`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
from penstock.wire.connection import Connection
from penstock.wire.coordinators import Coordinator, Kind, call
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Fenced, Refused, error_code

FEATURE: Final = "transaction.version"
NO_PRODUCER: Final = (-1, -1)
_SECOND: Final = 2
_INIT_VERSIONS: Final = (3, 4)  # from 3 on an owner can say which epoch it holds (KIP-360)
_ADD_VERSIONS: Final = (0, 3)  # 4 and later are for brokers
_ADD_OFFSETS_VERSIONS: Final = (0, 3)
_END_VERSIONS: Final = {1: (0, 4), 2: (5, 5)}
_COMMIT_OFFSETS_VERSIONS: Final = {1: (3, 4), 2: (5, 5)}
FENCED_CODES: Final = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)


class Transaction(NamedTuple):
    """What a writer must know to write in a transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    version: int
    """1 or 2: how this transaction is spoken of, from its first request to its last."""


class OffsetToCommit(NamedTuple):
    offset: int
    metadata: str


class TransactionOwner:
    """For one thread. After `fence`: `begin`, writers write, `commit_offsets`, `commit` or `abort`, again."""

    def __init__(self, cluster: Cluster, transactional_id: str, *, timeout_ms: int) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._coordinator = Coordinator(cluster, Kind.TRANSACTION, transactional_id)
        self._groups: dict[str, Coordinator] = {}
        self._holds = NO_PRODUCER
        self._used = False
        """Whether something may have been written under the epoch that we hold."""
        self._version = 1
        self._broker_aborts: Deadline | None = None

    def fence(self, deadline: Deadline) -> None:
        """Take the transactional id over from whoever had it; what was open is aborted, what was decided
        is finished. Only for the start: an owner that was fenced itself must not fight."""
        self._holds = self._init(NO_PRODUCER, deadline)
        self._used = False

    def begin(self, deadline: Deadline) -> Transaction:
        """A transaction under an epoch that nobody has used. Nothing is open until the first write."""
        assert self._holds != NO_PRODUCER, "fence first"
        if self._used:  # only in version 1: in version 2 every end has given the next epoch
            self._holds = self._init(self._holds, deadline)
        self._used = True
        self._broker_aborts = Deadline(self._timeout_ms / 1000)
        return Transaction(self._id, *self._holds, self._version)

    def commit_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetToCommit], deadline: Deadline
    ) -> None:
        """Commit offsets of a group as a part of the transaction."""
        if self._version < _SECOND:
            self._join_group(group_id, deadline)
        coordinator = self._groups.setdefault(group_id, Coordinator(self._cluster, Kind.GROUP, group_id))
        topics: dict[str, list[dict[str, Any]]] = {}
        for partition, (offset, metadata) in offsets.items():
            topics.setdefault(partition.topic, []).append(
                {
                    "partition_index": partition.partition,
                    "committed_offset": offset,
                    "committed_metadata": metadata,
                }
            )
        fields = {
            **self._identity(),
            "group_id": group_id,
            "topics": [{"name": name, "partitions": partitions} for name, partitions in topics.items()],
        }

        def request(connection: Connection) -> None:
            versions = _COMMIT_OFFSETS_VERSIONS[self._version]
            answer = call(connection, Api.TXN_OFFSET_COMMIT, fields, versions, deadline)
            for topic in answer.topics:
                for result in topic.partitions:
                    self._check(result.error_code, f"committing offsets of {topic.name} for {group_id!r}")

        coordinator.ask(f"offsets of group {group_id!r}", request, deadline)

    def commit(self, deadline: Deadline) -> None:
        """On return the transaction is committed. After an exception nobody knows: `fence` settles it."""
        self._end(committed=True, deadline=deadline)

    def abort(self, deadline: Deadline) -> None:
        """On return the transaction is aborted, and its writers' epoch is over."""
        self._end(committed=False, deadline=deadline)

    def _end(self, *, committed: bool, deadline: Deadline) -> None:
        fields = {**self._identity(), "committed": committed}

        def request(connection: Connection) -> Any:
            answer = call(connection, Api.END_TXN, fields, _END_VERSIONS[self._version], deadline)
            nothing_open = error_code(answer.error_code) is ErrorCode.INVALID_TXN_STATE
            # Version 1 refuses to abort what never began; version 2 gives the next epoch for it, too.
            if committed or self._version >= _SECOND or not nothing_open:
                self._check(answer.error_code, "committing" if committed else "aborting")
            return answer

        answer = self._coordinator.ask(f"the end of transaction {self._id!r}", request, deadline)
        if self._version >= _SECOND and answer.producer_id >= 0:
            self._holds, self._used = (answer.producer_id, answer.producer_epoch), False

    def _join_group(self, group_id: str, deadline: Deadline) -> None:
        fields = {**self._identity(), "group_id": group_id}

        def request(connection: Connection) -> None:
            answer = call(connection, Api.ADD_OFFSETS_TO_TXN, fields, _ADD_OFFSETS_VERSIONS, deadline)
            self._check(answer.error_code, f"adding group {group_id!r} to the transaction")

        self._coordinator.ask(f"transaction {self._id!r}", request, deadline)

    def _init(self, holds: tuple[int, int], deadline: Deadline) -> tuple[int, int]:
        fields = {
            "transactional_id": self._id,
            "transaction_timeout": self._timeout_ms,
            "producer_id": holds[0],
            "producer_epoch": holds[1],
        }

        def request(connection: Connection) -> tuple[int, int]:
            answer = call(connection, Api.INIT_PRODUCER_ID, fields, _INIT_VERSIONS, deadline)
            self._check(answer.error_code, "taking a producer id")
            self._version = _SECOND if connection.feature(FEATURE) >= _SECOND else 1
            return answer.producer_id, answer.producer_epoch

        return self._coordinator.ask(f"a producer id for transactional id {self._id!r}", request, deadline)

    def _identity(self) -> dict[str, Any]:
        producer_id, producer_epoch = self._holds
        return {
            "transactional_id": self._id,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
        }

    def _check(self, number: int, doing: str) -> None:
        code = error_code(number)
        if code is ErrorCode.NONE:
            return
        # A transaction that the broker has aborted cannot be committed in whatever state it says it is.
        if code in FENCED_CODES or (code is ErrorCode.INVALID_TXN_STATE and self._too_late()):
            raise Fenced(code, self._why_fenced(doing, code))
        reason = f"{doing}, transactional id {self._id!r}: the broker says {code.name}"
        if code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            reason += (
                f": it allows no transaction of {self._timeout_ms} ms. Ask for a shorter timeout, or raise "
                "the broker's transaction.max.timeout.ms"
            )
        elif code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            reason += ": give this user WRITE and DESCRIBE on the transactional id"
        raise Refused(code, reason)

    def _too_late(self) -> bool:
        return self._broker_aborts is not None and self._broker_aborts.passed

    def _why_fenced(self, doing: str, code: ErrorCode) -> str:
        who = f"{doing}, transactional id {self._id!r}"
        if self._too_late():
            return (
                f"{who}: the transaction was open for more than {self._timeout_ms / 1000:.0f} s, so the "
                f"broker has aborted it ({code.name}). Ask for a longer transaction timeout, or for smaller "
                "batches"
            )
        return (
            f"{who}: somebody else has taken it over ({code.name}), and this owner must stop. Two runs of "
            "one pipeline share a checkpoint or an application id: end one of them"
        )


def add_partitions(
    coordinator: Coordinator,
    transaction: Transaction,
    partitions: Collection[TopicPartition],
    deadline: Deadline,
) -> None:
    """Tell that the transaction writes to these partitions: before the first batch, in version 1 only."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    fields = {
        "v3_and_below_transactional_id": transaction.transactional_id,
        "v3_and_below_producer_id": transaction.producer_id,
        "v3_and_below_producer_epoch": transaction.producer_epoch,
        "v3_and_below_topics": [{"name": name, "partitions": numbers} for name, numbers in topics.items()],
    }

    def request(connection: Connection) -> None:
        answer = call(connection, Api.ADD_PARTITIONS_TO_TXN, fields, _ADD_VERSIONS, deadline)
        for topic in answer.results_by_topic_v3_and_below:
            for result in topic.results_by_partition:
                code = error_code(result.partition_error_code)
                if code in FENCED_CODES:
                    raise Fenced(code, f"transaction {transaction.transactional_id!r} is over: {code.name}")
                if code is not ErrorCode.NONE:
                    raise Refused(code, f"adding {topic.name}-{result.partition_index}: {code.name}")

    coordinator.ask(f"transaction {transaction.transactional_id!r}", request, deadline)
