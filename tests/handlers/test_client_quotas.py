"""Quotas by request: set, described, enforced. Codes and sentences are those of Apache Kafka 4.2."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from penstock.handlers.reply import NoReply, Reply
from penstock.handlers.table import HANDLERS
from penstock.handlers.throttling import ELSEWHERE, FIRST_FIELD_FROM
from penstock.protocol.apis import Api
from penstock.protocol.messages import _entity, milliseconds, read_response
from penstock.records.record import Record, encode_batch
from tests.handlers.one_node import OneNode, body_of

Parts = list[tuple[str, str | None]]


@pytest.fixture
def node() -> OneNode:
    return OneNode()


def alter(
    node: OneNode, parts: Parts, version: int = 1, *, validate_only: bool = False, **values: float | None
) -> tuple[int, str | None]:
    entry = {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in parts],
        "ops": [
            {"key": key, "value": value or 0.0, "remove": value is None} for key, value in values.items()
        ],
    }
    (result,) = node.ask(
        Api.ALTER_CLIENT_QUOTAS, version, entries=[entry], validate_only=validate_only
    ).entries
    return int(result.error_code), result.error_message


def describe(
    node: OneNode, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> Any:
    filters = [{"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components]
    answer = node.ask(Api.DESCRIBE_CLIENT_QUOTAS, version, components=filters, strict=strict)
    if answer.error_code != 0:
        return int(answer.error_code), answer.error_message
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in answer.entries
    }


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_described_as_they_were_set_also_after_a_crash(node: OneNode, version: int) -> None:
    assert alter(node, [("user", "u")], version, producer_byte_rate=1000.0, request_percentage=12.5)[0] == 0
    assert alter(node, [("user", "u"), ("client-id", "c")], version, producer_byte_rate=2000.0)[0] == 0
    assert alter(node, [("user", None)], version, consumer_byte_rate=3000.0)[0] == 0
    node.restart(killed=True)
    of_user = {"producer_byte_rate": 1000.0, "request_percentage": 12.5}
    of_both = {"producer_byte_rate": 2000.0}
    both = (("client-id", "c"), ("user", "u"))
    assert describe(node, ("user", 0, "u"), version=version) == {(("user", "u"),): of_user, both: of_both}
    assert describe(node, ("user", 0, "u"), strict=True) == {(("user", "u"),): of_user}
    assert describe(node, ("user", 1, None)) == {(("user", None),): {"consumer_byte_rate": 3000.0}}
    assert describe(node, ("user", 2, None), ("client-id", 2, None)) == {both: of_both}
    assert len(describe(node)) == 3
    assert alter(node, [("user", "u")], producer_byte_rate=None, request_percentage=None)[0] == 0
    assert describe(node, ("user", 0, "u"), strict=True) == {}


def test_validate_only_sets_nothing(node: OneNode) -> None:
    assert alter(node, [("user", "u")], validate_only=True, producer_byte_rate=1.0) == (0, None)
    assert describe(node) == {}


BAD_CHANGES: list[tuple[Parts, dict[str, float], str]] = [
    ([], {"producer_byte_rate": 1.0}, "Invalid empty client quota entity"),
    ([("user", "")], {"producer_byte_rate": 1.0}, "Empty user not supported"),
    ([("foo", "x")], {"producer_byte_rate": 1.0}, "Unhandled client quota entity type: foo"),
    ([("ip", "not an ip")], {"connection_creation_rate": 1.0},
     "not an ip is not a valid IP or resolvable host."),
    ([("ip", "1.1.1.1")], {"producer_byte_rate": 1.0}, "Invalid configuration key producer_byte_rate"),
    ([("user", "u")], {"connection_creation_rate": 1.0},
     "Invalid configuration key connection_creation_rate"),
    ([("user", "u")], {"producer_byte_rate": -1.0}, "Quota producer_byte_rate must be greater than 0"),
    ([("user", "u")], {"producer_byte_rate": 1.5}, "producer_byte_rate cannot be a fractional value."),
    ([("user", "u")], {"producer_byte_rate": 1e30},
     "Proposed value for producer_byte_rate is too large for a LONG."),
    ([("ip", "1.1.1.1")], {"connection_creation_rate": 1e10},
     "Proposed value for connection_creation_rate is too large for an INT."),
    ([("user", "u")], {"nope": 1.0}, "Invalid configuration key nope"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "values", "message"), BAD_CHANGES)
def test_a_bad_change_is_refused_with_kafkas_words(
    node: OneNode, parts: Parts, values: dict[str, float], message: str
) -> None:
    assert alter(node, parts, **values) == (42, message)
    assert describe(node) == {}


BAD_FILTERS: list[tuple[list[tuple[str, int, str | None]], int, str]] = [
    ([("user", 0, None)], 42, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
    ([("user", 1, "x")], 42, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
    ([("user", 2, "x")], 42, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
    ([("", 0, "x")], 42, "Invalid empty entity type."),
    ([("foo", 0, "x")], 35, "Unsupported entity type foo"),
    ([("user", 9, "x")], 42, "Unknown match type 9"),
    ([("user", 0, "u"), ("user", 0, "v")], 42,
     "Entity type user cannot appear more than once in the filter."),
    ([("ip", 2, None), ("user", 2, None)], 42,
     "Invalid entity filter component combination. IP filter component should not be used with user or "
     "clientId filter component."),
]  # fmt: skip


@pytest.mark.parametrize(("components", "code", "message"), BAD_FILTERS)
def test_a_bad_filter_is_refused_with_kafkas_words(
    node: OneNode, components: list[tuple[str, int, str | None]], code: int, message: str
) -> None:
    assert describe(node, *components) == (code, message)


# Enforcement


def produce(node: OneNode, size: int, acks: int = 1, version: int = 9) -> tuple[int, int]:
    """Throttle time in the answer, and for how long the connection is muted."""
    batch = bytes(encode_batch([Record(None, b"x" * size, (), node.clock.now_ms())]))
    topic = {"name": "t", "partition_data": [{"index": 0, "records": batch}]}
    fields = {"transactional_id": None, "acks": acks, "timeout": 1000, "topic_data": [topic]}
    outcome = node.submit(Api.PRODUCE, version, **fields)
    if isinstance(outcome, NoReply):
        return 0, outcome.throttle_ms
    assert isinstance(outcome, Reply)
    return told(Api.PRODUCE, version, outcome), outcome.throttle_ms


def told(api: Api, version: int, reply: Reply) -> int:
    return milliseconds(read_response(api, version, body_of(reply)).throttle_time)


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_a_producer_beyond_its_quota_is_told_and_muted_but_never_refused(node: OneNode, version: int) -> None:
    node.create_topic("t")
    assert alter(node, [("client-id", "test")], producer_byte_rate=100.0)[0] == 0
    assert produce(node, 500, version=version) == (0, 0)
    in_answer, muted = produce(node, 1500, version=version)
    assert in_answer == muted
    assert 9_000 < muted < 13_000
    assert produce(node, 10, acks=0, version=version)[1] > 9_000
    assert node.broker.partitions.get("t", 0).high_watermark == 3
    node.clock.pass_ms(60_000)
    assert produce(node, 10, version=version) == (0, 0)


def fetch(node: OneNode, **more: Any) -> tuple[Any, int]:
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
    fields = {
        "max_wait": 0,
        "min_bytes": 1,
        "max_bytes": 1_000_000,
        "topics": [{"topic": "t", "partitions": [part]}],
        "forgotten_topics_data": (),
        **more,
    }
    reply = node.settle(node.submit(Api.FETCH, 12, **fields))
    return read_response(Api.FETCH, 12, body_of(reply)), reply.throttle_ms


def test_a_consumer_beyond_its_quota_gets_nothing_until_it_has_waited(node: OneNode) -> None:
    node.create_topic("t")
    for _ in range(30):
        node.append("t", [b"x" * 100])
    assert alter(node, [("user", "ANONYMOUS")], consumer_byte_rate=100.0)[0] == 0
    answer, muted = fetch(node)
    assert muted == 0
    assert len(answer.responses[0].partitions[0].records) == 1000, "no more than a window allows"
    answer, muted = fetch(node)
    assert milliseconds(answer.throttle_time) == muted > 0
    assert answer.responses == ()
    node.clock.pass_ms(muted + 1000)  # the sample of the first fetch leaves the window
    answer, muted = fetch(node)
    assert (muted, len(answer.responses)) == (0, 1)


def test_a_throttled_fetch_keeps_its_session(node: OneNode) -> None:
    node.create_topic("t")
    node.append("t", [b"x" * 900])
    assert alter(node, [("client-id", None)], consumer_byte_rate=100.0)[0] == 0
    first, _ = fetch(node, session_id=0, session_epoch=0)
    throttled, muted = fetch(node, session_id=first.session_id, session_epoch=1)
    assert (throttled.session_id, throttled.responses, muted > 0) == (first.session_id, (), True)
    node.clock.pass_ms(muted + 11_000)
    answer, _ = fetch(node, session_id=first.session_id, session_epoch=2)
    assert len(answer.responses[0].partitions[0].records) > 0


def test_time_is_charged_and_told_in_every_answer(node: OneNode, monkeypatch: pytest.MonkeyPatch) -> None:
    node.create_topic("t")
    assert alter(node, [("user", None)], request_percentage=0.001)[0] == 0
    monkeypatch.setattr(node.clock, "monotonic", slow_clock(node))
    for api, version in ((Api.METADATA, 12), (Api.LIST_OFFSETS, 6), (Api.DESCRIBE_CLUSTER, 1)):
        reply = node.submit(api, version, **EMPTY[api])
        assert isinstance(reply, Reply)
        assert told(api, version, reply) == reply.throttle_ms == 1000
    assert produce(node, 1) == (1000, 1000)
    answer, muted = fetch(node)
    assert milliseconds(answer.throttle_time) == muted == 1000
    assert len(answer.responses) == 1


EMPTY: dict[Api, dict[str, Any]] = {
    Api.METADATA: {
        "topics": (),
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": False,
    },
    Api.LIST_OFFSETS: {"replica_id": -1, "isolation_level": 0, "topics": ()},
    Api.DESCRIBE_CLUSTER: {"include_cluster_authorized_operations": False, "endpoint_type": 1},
}


def slow_clock(node: OneNode) -> Any:
    """Every look at the clock takes a second."""

    def monotonic() -> float:
        node.clock.ms += 1000
        return node.clock.ms / 1000

    return monotonic


def test_the_throttle_time_is_where_it_is_said_to_be() -> None:
    for api, module in HANDLERS.items():
        low, high = module.VERSIONS
        for version in range(3 if api is Api.PRODUCE else low, high + 1):
            names = [field.name for field in dataclasses.fields(_entity(api, version, "Response"))]
            expected = api not in ELSEWHERE and version >= FIRST_FIELD_FROM.get(api, 0)
            assert (names[0] == "throttle_time") == expected, (api, version, names)


def create(node: OneNode, name: str, partitions: int, version: int) -> tuple[int, int]:
    wish = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": 1,
        "assignments": (),
        "configs": (),
    }
    answer = node.ask(Api.CREATE_TOPICS, version, topics=[wish], timeout=1000, validate_only=False)
    return int(answer.topics[0].error_code), milliseconds(answer.throttle_time)


def test_mutations_beyond_the_quota_are_refused_to_those_who_know_the_error(node: OneNode) -> None:
    assert alter(node, [("user", None)], controller_mutation_rate=1.0)[0] == 0
    assert create(node, "a", 11, 7) == (0, 0)
    assert create(node, "b", 3, 7) == (0, 0)
    assert create(node, "c", 1, 7) == (89, 3000)
    assert create(node, "d", 1, 5) == (0, 4000)
    delete = {"topics": [{"name": "a", "topic_id": None}], "timeout": 1000}
    deleted = node.ask(Api.DELETE_TOPICS, 6, **delete)
    assert (deleted.responses[0].error_code, milliseconds(deleted.throttle_time)) == (89, 4000)
    more = [{"name": "b", "count": 5, "assignments": None}]
    added = node.ask(Api.CREATE_PARTITIONS, 3, topics=more, timeout=1000, validate_only=False)
    assert (added.results[0].error_code, added.results[0].error_message) == (
        89,
        "The throttling quota has been exceeded.",
    )
    node.clock.pass_ms(4000)
    assert create(node, "c", 1, 7) == (0, 0)
