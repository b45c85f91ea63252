"""`kafka-transactions`: transactions and their producers; those that hang are found and aborted (KIP-664)."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from penstock.cli.kafka.arguments import print_table
from penstock.cli.kafka.asking import Asker, Refused
from penstock.cli.kafka.options import CommandFailed, VersionWanted
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script
from penstock.cli.kafka.transaction_options import transaction_parser
from penstock.cli.kafka.transaction_requests import (
    abort,
    describe_producers,
    describe_transaction,
    list_transactions,
    partitions_of,
    terminate,
)

NOT_OPEN: Final = -1
MINUTE_MS: Final = 60_000
PRODUCER_HEADERS: Final = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
TRANSACTION_HEADERS: Final = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
HANGING_HEADERS: Final = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)


def transactions(words: Sequence[str]) -> int:
    if {"-v", "--version"} & set(words):
        raise VersionWanted
    given = transaction_parser().parse_args(words)
    asker = Asker(given.bootstrap_server, load_properties(given.command_config))
    COMMANDS[given.command](asker, given)
    return 0


def _list(asker: Asker, given: argparse.Namespace) -> None:
    if given.transactional_id_pattern is not None:
        _check_pattern(given.transactional_id_pattern)
    with _failing("Failed to list transactions"):
        found = list_transactions(
            asker, longer_than_ms=given.duration_filter, pattern=given.transactional_id_pattern
        )
    print_table(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), found)


def _check_pattern(pattern: str) -> None:
    """A pattern that Python can read may still be refused by the broker, whose answer is shown then."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise CommandFailed(f"The pattern {pattern!r} is not a regular expression: {error}") from None


def _describe(asker: Asker, given: argparse.Namespace) -> None:
    name = given.transactional_id
    with _failing(f"Failed to describe transaction state of transactional-id `{name}`"):
        found = describe_transaction(asker, name)
    start, open_ms = ("None", "None") if found.start_ms is None else _since(found.start_ms)
    places = ",".join(f"{topic}-{index}" for topic, index in found.partitions)
    row = (
        found.coordinator,
        name,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.timeout_ms,
        start,
        open_ms,
        places,
    )
    print_table(TRANSACTION_HEADERS, [row])


def _since(start_ms: int) -> tuple[str, str]:
    return str(start_ms), str(_now_ms() - start_ms)


def _describe_producers(asker: Asker, given: argparse.Namespace) -> None:
    where = "leader" if given.broker_id is None else f"broker {given.broker_id}"
    place = f"{given.topic}-{given.partition}"
    with _failing(f"Failed to describe producers for partition {place} on {where}"):
        found = describe_producers(asker, given.topic, given.partition, given.broker_id)
    rows = [
        (
            one.producer_id,
            one.producer_epoch,
            one.coordinator_epoch,
            one.last_sequence,
            one.last_timestamp,
            "None" if one.current_txn_start_offset == NOT_OPEN else one.current_txn_start_offset,
        )
        for one in found
    ]
    print_table(PRODUCER_HEADERS, rows)


def _abort(asker: Asker, given: argparse.Namespace) -> None:
    if given.start_offset is None and given.producer_id is None:
        raise CommandFailed(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or "
            "above) or with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    producer, coordinator_epoch = _producer_to_abort(asker, given)
    what = (
        f"AbortTransactionSpec(topicPartition={given.topic}-{given.partition}, producerId={producer[0]}, "
        f"producerEpoch={producer[1]}, coordinatorEpoch={coordinator_epoch})"
    )
    with _failing(f"Failed to abort transaction {what}"):
        abort(asker, given.topic, given.partition, producer, coordinator_epoch)


def _producer_to_abort(asker: Asker, given: argparse.Namespace) -> tuple[tuple[int, int], int]:
    """Id and epoch of the producer, and the epoch of its coordinator. An unknown epoch of a coordinator is
    taken as 0, which no leader refuses."""
    if given.start_offset is None:
        for option in ("producer-epoch", "coordinator-epoch"):
            if getattr(given, option.replace("-", "_")) is None:
                raise CommandFailed(f"Missing required argument --{option}")
        return (given.producer_id, given.producer_epoch), max(given.coordinator_epoch, 0)
    place = f"{given.topic}-{given.partition}"
    with _failing(f"Failed to validate producer state for partition {place}"):
        found = describe_producers(asker, given.topic, given.partition)
    for one in found:
        if one.current_txn_start_offset == given.start_offset:
            return (one.producer_id, one.producer_epoch), max(one.coordinator_epoch, 0)
    raise CommandFailed(
        f"Could not find any open transactions starting at offset {given.start_offset} on partition {place}"
    )


def _find_hanging(asker: Asker, given: argparse.Namespace) -> None:
    if given.topic is None and given.broker_id is None:
        raise CommandFailed(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the "
            "search"
        )
    if given.partition is not None and given.topic is None:
        raise CommandFailed("The --partition argument requires --topic to be provided")
    if given.partition is not None:
        places = [(given.topic, given.partition)]
    else:
        with _failing("Failed to describe 1 topics"):
            places = partitions_of(asker, given.topic, given.broker_id)
    open_ones = _open_for_long(asker, given, places)
    print_table(HANGING_HEADERS, [_hanging_row(*one) for one in _hanging(asker, open_ones)])


def _open_for_long(
    asker: Asker, given: argparse.Namespace, places: Sequence[tuple[str, int]]
) -> list[tuple[str, int, Any]]:
    """Topic, partition and producer of each transaction without a write for longer than one may last."""
    with _failing(f"Failed to describe producers for {len(places)} partitions"):
        found = [
            (topic, partition, one)
            for topic, partition in places
            for one in describe_producers(asker, topic, partition, given.broker_id)
        ]
    longest_ms = given.max_transaction_timeout * MINUTE_MS
    now_ms = _now_ms()
    return [
        (topic, partition, one)
        for topic, partition, one in found
        if one.current_txn_start_offset != NOT_OPEN and now_ms - one.last_timestamp > longest_ms
    ]


def _hanging(asker: Asker, open_ones: Sequence[tuple[str, int, Any]]) -> list[tuple[str, int, Any]]:
    """Those that no coordinator will end: it knows no such producer, or not that it writes there."""
    ids = sorted({one.producer_id for _, _, one in open_ones})
    if not ids:
        return []
    with _failing(f"Failed to list transactions for {len(ids)} producers"):
        names = {one.producer_id: one.transactional_id for one in list_transactions(asker, producer_ids=ids)}
    expected = {producer_id: _open_partitions(asker, name) for producer_id, name in names.items()}
    return [
        (topic, partition, one)
        for topic, partition, one in open_ones
        if (topic, partition) not in expected.get(one.producer_id, ())
    ]


def _open_partitions(asker: Asker, transactional_id: str) -> list[tuple[str, int]]:
    try:
        with _failing("Failed to describe 1 transactions"):
            return describe_transaction(asker, transactional_id).partitions
    except CommandFailed as error:
        if isinstance(error.__cause__, Refused) and error.__cause__.name == "TRANSACTIONAL_ID_NOT_FOUND":
            return []
        raise


def _hanging_row(topic: str, partition: int, one: Any) -> tuple[object, ...]:
    return (
        topic,
        partition,
        one.producer_id,
        one.producer_epoch,
        one.coordinator_epoch,
        one.current_txn_start_offset,
        one.last_timestamp,
        (_now_ms() - one.last_timestamp) // MINUTE_MS,
    )


def _terminate(asker: Asker, given: argparse.Namespace) -> None:
    name = given.transactional_id
    with _failing(f"Failed to force terminate transactionalId {name}"):
        terminate(asker, name)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def _failing(doing: str) -> Iterator[None]:
    """What a broker refuses, in the words of Kafka's command."""
    try:
        yield
    except CommandFailed as error:
        message = f"{doing}: {error}" + ("" if str(error).endswith(".") else ".")
        raise CommandFailed(f"{message} Enable debug logging for additional detail.") from error


COMMANDS: Final[dict[str, Callable[[Asker, argparse.Namespace], None]]] = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
    "forceTerminateTransaction": _terminate,
}

main = script(transactions)
