"""Our Produce messages against kio, which is generated from Kafka's own schemas."""

from __future__ import annotations

import pytest

from penstock.protocol import messages
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import Reader
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire import produce_messages

VERSIONS = range(produce_messages.VERSIONS[0], produce_messages.VERSIONS[1] + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_request_is_read_by_kio_as_it_was_meant(version: int) -> None:
    batches = {
        TopicPartition("a", 0): b"first",
        TopicPartition("b", 1): b"second",
        TopicPartition("a", 2): b"third" * 100,
    }
    body = b"".join(produce_messages.encode_request(version, batches, timeout_ms=1500))
    request = messages.read_request(
        Api.PRODUCE, version, Reader(memoryview(body), flexible=is_flexible(Api.PRODUCE, version))
    )
    assert request.acks == -1
    assert messages.milliseconds(request.timeout) == 1500
    assert request.transactional_id is None
    found = {
        TopicPartition(topic.name, partition.index): partition.records
        for topic in request.topic_data
        for partition in topic.partition_data
    }
    assert found == batches


@pytest.mark.parametrize("version", VERSIONS)
def test_what_kio_writes_is_read(version: int) -> None:
    good = {"index": 0, "error_code": 0, "base_offset": 44, "log_append_time": None, "record_errors": []}
    reason = {"batch_index": 3, "batch_index_error_message": "no key"}
    bad = {
        **good,
        "index": 1,
        "error_code": 87,
        "record_errors": [reason],
        "error_message": None,
    }
    fields = {"responses": [{"name": "t", "partition_responses": [good, bad]}], "throttle_time": 0}
    body = memoryview(messages.encode_response(Api.PRODUCE, version, fields))
    results = produce_messages.read_response(version, body)
    assert results[TopicPartition("t", 0)] == (ErrorCode.NONE, 44, None)
    assert results[TopicPartition("t", 1)].error is ErrorCode.INVALID_RECORD
    if version >= 8:
        assert results[TopicPartition("t", 1)].message == "no key"
