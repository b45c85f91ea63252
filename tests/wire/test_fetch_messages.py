"""Our Fetch messages against kio, which is generated from Kafka's own schemas."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.protocol import messages
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode
from penstock.protocol.fetch import AbortedTransaction
from penstock.protocol.primitives import MalformedMessage, Reader
from penstock.wire import fetch_messages

TOPIC_ID = bytes(range(16))
VERSIONS = range(fetch_messages.VERSIONS[0], fetch_messages.VERSIONS[1] + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_request_is_read_by_kio_as_it_was_meant(version: int) -> None:
    wanted = fetch_messages.Wanted("trades", TOPIC_ID, 7, 3, 1 << 40, 1000)
    body = fetch_messages.encode_request(version, wanted, max_wait_ms=250, max_bytes=2000, isolation=1)
    request = messages.read_request(
        Api.FETCH, version, Reader(memoryview(body), flexible=is_flexible(Api.FETCH, version))
    )
    assert messages.milliseconds(request.max_wait) == 250
    assert (request.min_bytes, request.max_bytes, request.isolation_level) == (1, 2000, 1)
    (topic,) = request.topics
    if version >= 13:
        assert topic.topic_id.bytes == TOPIC_ID
    else:
        assert topic.topic == "trades"
    (partition,) = topic.partitions
    assert (partition.partition, partition.fetch_offset, partition.partition_max_bytes) == (7, 1 << 40, 1000)
    if version >= 9:
        assert partition.current_leader_epoch == 3


def response(version: int, **changes: Any) -> bytes:
    partition = {
        "partition_index": 7,
        "error_code": 0,
        "high_watermark": 90,
        "last_stable_offset": 80,
        "log_start_offset": 5,
        "aborted_transactions": [{"producer_id": 4000, "first_offset": 11}],
        "preferred_read_replica": -1,
        "records": b"the records",
        **changes,
    }
    topic = {"topic": "trades", "topic_id": TOPIC_ID, "partitions": [partition]}
    fields = {"throttle_time": 0, "error_code": 0, "session_id": 0, "responses": [topic]}
    return messages.encode_response(Api.FETCH, version, fields)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_kio_writes_is_read(version: int) -> None:
    error, (answer,) = fetch_messages.read_response(version, memoryview(response(version)))
    assert error is ErrorCode.NONE
    assert (answer.partition, answer.high_watermark, answer.last_stable_offset) == (7, 90, 80)
    assert answer.aborted == (AbortedTransaction(4000, 11),)
    assert bytes(answer.records) == b"the records"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_error_of_a_partition_is_read_and_missing_records_are_none(version: int) -> None:
    body = response(version, error_code=1, records=None, aborted_transactions=None)
    _, (answer,) = fetch_messages.read_response(version, memoryview(body))
    assert answer.error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert not answer.records
    assert answer.aborted == ()


@pytest.mark.parametrize("version", [4, 12, 17])
def test_a_response_cut_anywhere_is_malformed(version: int) -> None:
    body = response(version)
    for size in range(len(body)):
        with pytest.raises(MalformedMessage):
            fetch_messages.read_response(version, memoryview(body[:size]))
