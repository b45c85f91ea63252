"""Transactions through their requests, on one node: what clients of each version see."""

from __future__ import annotations

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from tests.handlers.one_node import OneNode
from tests.handlers.transactional import GROUP, TX, HandProducer

T0, T1 = ("t", 0), ("t", 1)


@pytest.fixture
def node() -> OneNode:
    node = OneNode()
    node.create_topic("t", 2)
    return node


@pytest.fixture
def producer(node: OneNode) -> HandProducer:
    return HandProducer(node)


def test_the_internal_topic_is_made_as_kafka_makes_it(node: OneNode, producer: HandProducer) -> None:
    topic = node.broker.controller.image.topics["__transaction_state"]
    assert len(topic.partitions) == 50
    config = node.broker.controller.image.topic_config("__transaction_state")
    assert (config["cleanup.policy"], config["compression.type"]) == ("compact", "uncompressed")


def test_transaction_version_2_is_announced(node: OneNode) -> None:
    answer = node.ask(Api.API_VERSIONS, 3, client_software_name="test", client_software_version="1")
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    assert levels["transaction.version"] == 2


def test_an_idempotent_producer_needs_no_transactional_id(node: OneNode) -> None:
    fields = {"transactional_id": None, "transaction_timeout": 0, "producer_id": -1, "producer_epoch": -1}
    answer = node.ask(Api.INIT_PRODUCER_ID, 4, **fields)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)


@pytest.mark.parametrize("expected", [(5, -1), (-1, 5)])
def test_half_an_identity_is_refused(producer: HandProducer, expected: tuple[int, int]) -> None:
    assert producer.init(expected).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_the_end_commits(node: OneNode, producer: HandProducer, version: int) -> None:
    me = producer.identity()
    assert producer.add(me, T0) == [ErrorCode.NONE]
    answer = producer.end(me, version=version)
    assert answer.error_code == ErrorCode.NONE
    if version >= 5:
        assert (answer.producer_id, answer.producer_epoch) == (me[0], me[1] + 1)
    assert producer.describe().transaction_state == "CompleteCommit"


@pytest.mark.parametrize(("version", "code"), [(1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")])
def test_old_clients_are_fenced_in_words_they_know(producer: HandProducer, version: int, code: str) -> None:
    zombie = producer.identity()
    producer.identity()
    assert producer.add(zombie, T0, version=version) == [ErrorCode[code]]
    assert producer.add_offsets(zombie, version=version) is ErrorCode[code]
    assert producer.end(zombie, version=version).error_code == ErrorCode[code]


@pytest.mark.parametrize(("version", "code"), [(3, "INVALID_PRODUCER_EPOCH"), (4, "PRODUCER_FENCED")])
def test_a_fenced_initialisation_too(producer: HandProducer, version: int, code: str) -> None:
    zombie = producer.identity()
    producer.identity()
    assert producer.init(zombie, version=version).error_code == ErrorCode[code]


def test_one_unknown_partition_refuses_all(producer: HandProducer) -> None:
    me = producer.identity()
    codes = producer.add(me, T0, ("nope", 0), ("t", 9), ("__consumer_offsets", 0))
    assert codes == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ]
    assert producer.describe().transaction_state == "Empty"


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_and_verify_for_many_transactions_at_once(
    node: OneNode, producer: HandProducer, version: int
) -> None:
    me, other = producer.identity(), HandProducer(node, "other").identity()
    rows = [
        {"transactional_id": TX, "producer_id": me[0], "producer_epoch": me[1], "verify_only": False},
        {"transactional_id": "other", "producer_id": other[0], "producer_epoch": 9, "verify_only": True},
        {"transactional_id": TX, "producer_id": me[0], "producer_epoch": me[1], "verify_only": True},
    ]
    topics = [[T0], [T0], [T0, T1]]
    for row, places in zip(rows, topics, strict=True):
        row["topics"] = [{"name": "t", "partitions": [index for _, index in places]}]
    answer = node.ask(Api.ADD_PARTITIONS_TO_TXN, version, transactions=rows)
    codes = [
        [part.partition_error_code for topic in result.topic_results for part in topic.results_by_partition]
        for result in answer.results_by_transaction
    ]
    assert codes == [
        [ErrorCode.NONE],
        [ErrorCode.PRODUCER_FENCED],
        [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE],
    ]


# What the log holds


@pytest.mark.parametrize("commit", [True, False])
def test_the_partition_is_closed_behind_the_transaction(
    node: OneNode, producer: HandProducer, commit: bool
) -> None:
    me = producer.identity()
    producer.add(me, T0)
    producer.write(me, b"a", b"b")
    partition = node.broker.partitions.get("t", 0)
    assert partition.log.last_stable_offset == 0
    producer.end(me, commit=commit)
    assert partition.log.last_stable_offset == partition.high_watermark == 3


def test_a_deleted_topic_does_not_hold_up_the_end(node: OneNode, producer: HandProducer) -> None:
    node.create_topic("gone")
    me = producer.identity()
    producer.add(me, T0, ("gone", 0))
    node.ask(Api.DELETE_TOPICS, 5, topic_names=["gone"], timeout=1000)
    producer.end(me)
    assert producer.describe().transaction_state == "CompleteCommit"


# Offsets in transactions


@pytest.mark.parametrize("version", [0, 3, 4, 5])
def test_offsets_count_when_the_transaction_commits(producer: HandProducer, version: int) -> None:
    me = producer.identity()
    if version < 5:
        assert producer.add_offsets(me) is ErrorCode.NONE
    assert producer.commit_offset(me, 7, version=version) is ErrorCode.NONE
    assert producer.fetch_offset() == -1
    assert producer.fetch_offset(stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    producer.end(me)
    assert producer.fetch_offset() == producer.fetch_offset(stable=True) == 7


def test_offsets_of_an_aborted_transaction_never_count(producer: HandProducer) -> None:
    me = producer.identity()
    producer.commit_offset(me, 7, version=5)
    producer.end(me, commit=False)
    assert producer.fetch_offset(stable=True) == -1


@pytest.mark.parametrize(
    ("version", "code"), [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_stray_offsets_are_refused(producer: HandProducer, version: int, code: ErrorCode) -> None:
    me = producer.identity()
    producer.add(me, T0)
    assert producer.commit_offset(me, 7, version=version) is code
    assert producer.fetch_offset(stable=True) == -1


def test_offsets_of_a_zombie_are_refused(producer: HandProducer) -> None:
    zombie = producer.identity()
    producer.identity()
    for version in (3, 5):
        assert producer.commit_offset(zombie, 7, version=version) is ErrorCode.PRODUCER_FENCED


def test_offsets_in_an_unknown_topic_are_refused(producer: HandProducer) -> None:
    me = producer.identity()
    code = producer.commit_offset(me, 7, topic="nope", version=5)
    assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.describe().transaction_state == "Empty"


# Time and crashes


def test_a_transaction_times_out_and_its_offsets_with_it(node: OneNode, producer: HandProducer) -> None:
    me = producer.identity()
    producer.add(me, T0)
    producer.write(me, b"a")
    producer.commit_offset(me, 7, version=5)
    node.clock.pass_ms(60_000)
    node.broker.transactions.runtime.advance(node.clock.monotonic())
    assert producer.describe().transaction_state == "CompleteAbort"
    assert producer.fetch_offset(stable=True) == -1
    assert node.broker.partitions.get("t", 0).log.last_stable_offset == 2


@pytest.mark.parametrize("killed", [True, False])
def test_an_open_transaction_survives_a_restart(node: OneNode, producer: HandProducer, killed: bool) -> None:
    me = producer.identity()
    producer.add(me, T0)
    producer.write(me, b"a")
    producer.commit_offset(me, 7, version=5)
    node.restart(killed=killed)
    node.load()
    assert producer.fetch_offset(stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert producer.end(me).error_code == ErrorCode.NONE
    assert producer.fetch_offset(stable=True) == 7


def test_while_it_is_loading_the_coordinator_says_so(node: OneNode, producer: HandProducer) -> None:
    me = producer.identity()
    node.restart()
    assert producer.add(me, T0) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    answer = node.ask(Api.LIST_TRANSACTIONS, 1, state_filters=[], producer_id_filters=[], duration_filter=-1)
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    node.load()
    assert producer.add(me, T0) == [ErrorCode.NONE]


# Tools


def test_transactions_are_listed_by_state_producer_age_and_name(
    node: OneNode, producer: HandProducer
) -> None:
    me = producer.identity()
    producer.add(me, T0)
    other = HandProducer(node, "other").identity()
    node.clock.pass_ms(1000)

    def listed(**filters: object) -> set[str]:
        fields = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1} | filters
        answer = node.ask(Api.LIST_TRANSACTIONS, 2, **({"transactional_id_pattern": None} | fields))
        assert answer.error_code == ErrorCode.NONE
        return {row.transactional_id for row in answer.transaction_states}

    assert listed() == {"tx", "other"}
    assert listed(state_filters=["Ongoing"]) == {"tx"}
    assert listed(state_filters=["Nonsense"]) == set()
    assert listed(producer_id_filters=[other[0]]) == {"other"}
    assert listed(state_filters=["Ongoing"], duration_filter=2000) == set()
    assert listed(transactional_id_pattern="o.*") == {"other"}


def test_a_pattern_that_is_none_is_refused(node: OneNode, producer: HandProducer) -> None:
    fields = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1}
    answer = node.ask(Api.LIST_TRANSACTIONS, 2, transactional_id_pattern="(", **fields)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_transaction_is_described_with_its_partitions(node: OneNode, producer: HandProducer) -> None:
    me = producer.identity()
    producer.add(me, T0, T1)
    found = producer.describe()
    assert (found.producer_id, found.producer_epoch, found.transaction_state) == (*me, "Ongoing")
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", (0, 1))]
    assert found.transaction_start_time.timestamp() * 1000 == node.clock.now_ms()


def test_an_unknown_id_is_not_found(node: OneNode) -> None:
    node.ask(Api.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=[GROUP])
    answer = node.ask(Api.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["no", ""])
    codes = [row.error_code for row in answer.transaction_states]
    assert codes == [ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.INVALID_REQUEST]
