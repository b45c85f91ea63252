"""Both heartbeats in every version, judged by kio."""

from __future__ import annotations

import uuid

import pytest

from penstock.protocol import heartbeats
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.heartbeats import ConsumerAnswer, ConsumerHeartbeat, Heartbeat
from tests.protocol import kio_oracle

TOPIC = uuid.UUID(int=7)


@pytest.mark.parametrize("version", range(5))
def test_a_classic_heartbeat_written_by_kio_is_read(version: int) -> None:
    fields = {"group_id": "g", "generation_id": 3, "member_id": "m", "group_instance_id": "i"}
    reader = kio_oracle.reader_of(Api.HEARTBEAT, version, fields)
    assert heartbeats.read_heartbeat(reader, version) == Heartbeat("g", 3, "m", "i" if version >= 3 else None)
    assert reader.remaining == 0


@pytest.mark.parametrize("version", range(5))
def test_the_answer_to_a_classic_heartbeat_is_what_kio_expects(version: int) -> None:
    data = heartbeats.encode_heartbeat_response(version, ErrorCode.REBALANCE_IN_PROGRESS)
    parsed = kio_oracle.response(Api.HEARTBEAT, version, data)
    assert int(parsed.error_code) == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize("is_full", [True, False])
def test_a_consumers_heartbeat_written_by_kio_is_read(version: int, is_full: bool) -> None:
    fields = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 4,
        "instance_id": "i" if is_full else None,
        "rack_id": "r" if is_full else None,
        "rebalance_timeout": 5000,
        "subscribed_topic_names": ("a", "b") if is_full else None,
        "subscribed_topic_regex": "x.*" if is_full else None,
        "server_assignor": "range" if is_full else None,
        "topic_partitions": [{"topic_id": TOPIC.bytes, "partitions": (2, 0)}] if is_full else None,
    }
    reader = kio_oracle.reader_of(Api.CONSUMER_GROUP_HEARTBEAT, version, fields)
    regex = "x.*" if is_full and version >= 1 else None
    expected = ConsumerHeartbeat("g", "m", 4, None, None, 5000, None, regex, None, None)
    if is_full:
        expected = expected._replace(
            instance_id="i",
            rack_id="r",
            topic_names=("a", "b"),
            server_assignor="range",
            owned={TOPIC.bytes: frozenset({0, 2})},
        )
    assert heartbeats.read_consumer_heartbeat(reader, version) == expected
    assert reader.remaining == 0


@pytest.mark.parametrize("version", range(2))
def test_the_answer_to_a_consumers_heartbeat_is_what_kio_expects(version: int) -> None:
    answer = ConsumerAnswer(ErrorCode.NONE, None, "m", 5, 3000, {TOPIC.bytes: {3, 1}})
    parsed = kio_oracle.response(
        Api.CONSUMER_GROUP_HEARTBEAT, version, heartbeats.encode_consumer_response(answer)
    )
    assert (parsed.member_id, parsed.member_epoch) == ("m", 5)
    (topic,) = parsed.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (TOPIC, (1, 3))
    refusal = ConsumerAnswer(ErrorCode.FENCED_MEMBER_EPOCH, "too old")
    parsed = kio_oracle.response(
        Api.CONSUMER_GROUP_HEARTBEAT, version, heartbeats.encode_consumer_response(refusal)
    )
    assert (int(parsed.error_code), parsed.error_message, parsed.assignment) == (110, "too old", None)
