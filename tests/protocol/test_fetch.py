"""Fetch in every version, judged by kio."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

import pytest

from penstock.protocol import fetch
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.fetch import AbortedTransaction, PartitionAnswer, TopicAnswer
from tests.protocol import kio_oracle

TOPIC_ID = uuid.UUID(int=0x1234_5678_9ABC_DEF0_1234_5678_9ABC_DEF0).bytes


class Slice(NamedTuple):
    """Stands where a slice of a file would stand."""

    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)


def request_fields(version: int) -> dict[str, Any]:
    return {
        "replica_id": -1,
        "max_wait": 500,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": 1,
        "session_id": 7,
        "session_epoch": 3,
        "rack_id": "a",
        "topics": [
            {
                "topic": "t",
                "topic_id": TOPIC_ID,
                "partitions": [
                    {
                        "partition": 5,
                        "current_leader_epoch": 2,
                        "fetch_offset": 1 << 40,
                        "last_fetched_epoch": 1,
                        "log_start_offset": 9,
                        "partition_max_bytes": 4096,
                        "high_watermark": 8,  # tagged, from v18 on
                    }
                ],
            }
        ],
        "forgotten_topics_data": [{"topic": "u", "topic_id": TOPIC_ID, "partitions": [1, 2]}],
    }


@pytest.mark.parametrize("version", range(4, 19))
def test_a_request_written_by_kio_is_read(version: int) -> None:
    reader = kio_oracle.reader_of(Api.FETCH, version, request_fields(version))
    request = fetch.read_request(reader, version)
    assert reader.remaining == 0
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation) == (
        500,
        1,
        1 << 20,
        1,
    )
    topic = request.topics[0]
    assert (topic.name, topic.topic_id) == (("t", bytes(16)) if version < 13 else ("", TOPIC_ID))
    assert (topic.partitions[0].partition, topic.partitions[0].fetch_offset) == (5, 1 << 40)
    assert topic.partitions[0].max_bytes == 4096
    assert (request.session_id, request.session_epoch) == ((7, 3) if version >= 7 else (0, -1))
    assert [item.partitions for item in request.forgotten] == ([[1, 2]] if version >= 7 else [])


@pytest.mark.parametrize("version", range(4, 19))
def test_a_response_in_parts_is_what_kio_expects(version: int) -> None:
    answers = [
        TopicAnswer(
            "t",
            TOPIC_ID,
            [
                PartitionAnswer(
                    0, ErrorCode.NONE, 10, 9, 1, Slice(b"batch-bytes"), (AbortedTransaction(3, 4),)
                ),
                PartitionAnswer(1, ErrorCode.OFFSET_OUT_OF_RANGE),
                PartitionAnswer(2, ErrorCode.NONE, 3, 3, 0, Slice(b"more")),
            ],
        )
    ]
    parts = fetch.encode_response(version, answers, session_id=0)
    data = b"".join(part.data if isinstance(part, Slice) else part for part in parts)  # type: ignore[attr-defined]
    parsed = kio_oracle.response(Api.FETCH, version, data)
    first, second, third = parsed.responses[0].partitions
    assert bytes(first.records) == b"batch-bytes"
    assert first.high_watermark == 10
    assert first.aborted_transactions[0].first_offset == 4
    assert int(second.error_code) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert bytes(third.records) == b"more"
