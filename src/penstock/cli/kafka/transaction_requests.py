"""What `kafka-transactions` asks of brokers: transactions of coordinators, producers of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from penstock.cli.kafka.asking import Asker, check, text_of
from penstock.cli.kafka.topic_description import described_partitions

UNKNOWN_ID: Final = (
    "DescribeTransactions request for transactionalId `{}` failed because the ID could not be found"
)


class Listed(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


class Described(NamedTuple):
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int | None
    partitions: list[tuple[str, int]]


def list_transactions(
    asker: Asker, *, longer_than_ms: int = -1, producer_ids: Sequence[int] = (), pattern: str | None = None
) -> list[Listed]:
    """Every broker is asked for the transactions that it coordinates."""
    from penstock.protocol.apis import Api

    fields = {"state_filters": [], "producer_id_filters": producer_ids, "duration_filter": longer_than_ms}
    oldest = 0 if pattern is None else 2
    found = []
    for node_id in asker.brokers():
        asked = fields | {"transactional_id_pattern": pattern}
        answer = asker.broker(node_id, Api.LIST_TRANSACTIONS, asked, (oldest, 2))
        check(answer)
        found += [
            Listed(one.transactional_id, node_id, one.producer_id, one.transaction_state)
            for one in answer.transaction_states
        ]
    return sorted(found, key=lambda one: one.coordinator)


def describe_transaction(asker: Asker, transactional_id: str) -> Described:
    """Raises `Refused` when no coordinator knows the transactional id."""
    from penstock.protocol.apis import Api
    from penstock.protocol.errors import ErrorCode
    from penstock.protocol.messages import milliseconds
    from penstock.wire.coordinators import Coordinator, Kind
    from penstock.wire.errors import Refused as WireRefused
    from penstock.wire.errors import error_code

    coordinator = Coordinator(asker.cluster, Kind.TRANSACTION, transactional_id)

    def attempt(deadline: Any) -> Any:
        def request(connection: Any) -> Any:
            fields = {"transactional_ids": [transactional_id]}
            answer = connection.call(Api.DESCRIBE_TRANSACTIONS, fields, deadline, oldest=0, newest=0)
            (one,) = answer.transaction_states
            code = error_code(one.error_code)
            if code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise WireRefused(code, UNKNOWN_ID.format(transactional_id))
            if code is not ErrorCode.NONE:
                raise WireRefused(code, text_of(code.name))
            return one

        return coordinator.ask(Api.DESCRIBE_TRANSACTIONS.name, request, deadline)

    found = asker.asked(Api.DESCRIBE_TRANSACTIONS, attempt)
    start = found.transaction_start_time
    return Described(
        coordinator.node_id,
        found.producer_id,
        found.producer_epoch,
        found.transaction_state,
        milliseconds(found.transaction_timeout),
        None if start is None else round(start.timestamp() * 1000),
        [(topic.topic, index) for topic in found.topics for index in topic.partitions],
    )


def describe_producers(asker: Asker, topic: str, partition: int, broker_id: int | None = None) -> list[Any]:
    """The producers that the leader of a partition remembers, or another of its replicas."""
    from penstock.protocol.apis import Api

    fields = {"topics": [{"name": topic, "partition_indexes": [partition]}]}
    asker.brokers()
    node_id = _leader(asker, topic, partition) if broker_id is None else broker_id
    answer = asker.broker(node_id, Api.DESCRIBE_PRODUCERS, fields, (0, 0))
    (found,) = answer.topics[0].partitions
    check(found)
    return list(found.active_producers)


def abort(
    asker: Asker, topic: str, partition: int, producer: tuple[int, int], coordinator_epoch: int
) -> None:
    """Writes an abort marker of the producer (id and epoch) into the partition."""
    from penstock.protocol.apis import Api

    marker = {
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "transaction_result": False,
        "topics": [{"name": topic, "partition_indexes": [partition]}],
        "coordinator_epoch": coordinator_epoch,
    }
    leader = _leader(asker, topic, partition)
    answer = asker.broker(leader, Api.WRITE_TXN_MARKERS, {"markers": [marker]}, (1, 1))
    check(answer.markers[0].topics[0].partitions[0])


def terminate(asker: Asker, transactional_id: str) -> None:
    """Takes the transactional id over, which aborts the transaction that it has open."""
    from penstock.protocol.apis import Api
    from penstock.wire.coordinators import Kind

    fields = {
        "transactional_id": transactional_id,
        "transaction_timeout": 60_000,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    check(asker.coordinator(Kind.TRANSACTION, transactional_id, Api.INIT_PRODUCER_ID, fields, (0, 5)))


def partitions_of(asker: Asker, topic: str | None, broker_id: int | None) -> list[tuple[str, int]]:
    """The partitions of a topic, or of all; only those with a replica on the broker when one is named."""
    names = asker.topic_names() if topic is None else [topic]
    return [
        (name, one.partition_index)
        for name, (_, partitions) in described_partitions(asker, names).items()
        for one in partitions
        if broker_id is None or broker_id in one.replica_nodes
    ]


def _leader(asker: Asker, topic: str, partition: int) -> int:
    from penstock.protocol.apis import Api
    from penstock.protocol.topic_partition import TopicPartition

    place = TopicPartition(topic, partition)
    return int(asker.asked(Api.METADATA, lambda deadline: asker.cluster.leader(place, deadline)).node_id)
