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


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("topic", ["t", "ü" * 120])
def test_a_plain_response_is_the_one_that_is_written_field_by_field(version: int, topic: str) -> None:
    results = [TopicResult(topic, TOPIC_ID, [PartitionResult(3, ErrorCode.NONE, 100, 17, 5)])]
    plain = produce.encode_plain_response(version, results, 7)
    assert plain == (produce.encode_response(version, results, 7) if version >= 9 else None)


def test_a_response_that_says_more_is_not_plain() -> None:
    good, bad = PartitionResult(0, ErrorCode.NONE, 1), PartitionResult(1, ErrorCode.CORRUPT_MESSAGE)
    for results in (
        [],
        [TopicResult("t", TOPIC_ID, [bad])],
        [TopicResult("t", TOPIC_ID, [good, bad])],
        [TopicResult("t", TOPIC_ID, [good]), TopicResult("u", TOPIC_ID, [good])],
    ):
        assert produce.encode_plain_response(12, results, 0) is None
