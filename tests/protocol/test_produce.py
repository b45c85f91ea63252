"""Produce in every version, judged by kio."""

from __future__ import annotations

import pytest

from penstock.protocol import produce
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.produce import PartitionResult, TopicResult
from tests.protocol import kio_oracle

TOPIC_ID = bytes(range(16))


@pytest.mark.parametrize("version", range(3, 14))
def test_a_request_written_by_kio_is_read_without_copying_the_records(version: int) -> None:
    reader = kio_oracle.reader_of(
        Api.PRODUCE,
        version,
        {
            "transactional_id": None,
            "acks": -1,
            "timeout": 1500,
            "topic_data": [
                {
                    "name": "t",
                    "topic_id": TOPIC_ID,
                    "partition_data": [{"index": 3, "records": b"abc"}, {"index": 4, "records": None}],
                }
            ],
        },
    )
    request = produce.read_request(reader, version)
    assert (request.acks, request.timeout_ms) == (-1, 1500)
    topic = request.topics[0]
    assert (topic.name, topic.topic_id) == (("t", bytes(16)) if version < 13 else ("", TOPIC_ID))
    assert topic.partitions[0].partition == 3
    assert topic.partitions[0].records is not None
    assert bytes(topic.partitions[0].records) == b"abc"
    assert topic.partitions[0].records.obj is reader.buffer.obj
    assert topic.partitions[1].records is None


@pytest.mark.parametrize("version", range(3, 14))
def test_a_response_is_what_kio_expects(version: int) -> None:
    results = [
        PartitionResult(0, ErrorCode.NONE, 100, -1, 5),
        PartitionResult(
            1, ErrorCode.CORRUPT_MESSAGE, message="the CRC is wrong", record_errors=[(4, "no key")]
        ),
    ]
    data = produce.encode_response(version, [TopicResult("t", TOPIC_ID, results)], throttle_ms=7)
    parsed = kio_oracle.response(Api.PRODUCE, version, data)
    good, bad = parsed.responses[0].partition_responses
    assert (good.index, good.base_offset) == (0, 100)
    assert int(bad.error_code) == ErrorCode.CORRUPT_MESSAGE
    if version >= 8:
        assert bad.error_message == "the CRC is wrong"
        assert [(error.batch_index, error.batch_index_error_message) for error in bad.record_errors] == [
            (4, "no key")
        ]
        assert not good.record_errors
