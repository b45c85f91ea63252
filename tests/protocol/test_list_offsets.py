"""ListOffsets in every version, judged by kio."""

from __future__ import annotations

import pytest

from penstock.protocol import list_offsets
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.list_offsets import OffsetAnswer, TopicOffsets
from tests.protocol import kio_oracle


@pytest.mark.parametrize("version", range(1, 12))
def test_a_request_written_by_kio_is_read(version: int) -> None:
    reader = kio_oracle.reader_of(
        Api.LIST_OFFSETS,
        version,
        {
            "replica_id": -1,
            "isolation_level": 1,
            "timeout": 1000,
            "topics": [
                {
                    "name": "t",
                    "partitions": [{"partition_index": 2, "current_leader_epoch": 5, "timestamp": -2}],
                }
            ],
        },
    )
    request = list_offsets.read_request(reader, version)
    query = request.topics[0].partitions[0]
    assert (query.partition, query.timestamp) == (2, list_offsets.EARLIEST)
    assert query.current_leader_epoch == (5 if version >= 4 else -1)


@pytest.mark.parametrize("version", range(1, 12))
def test_a_response_is_what_kio_expects(version: int) -> None:
    answers = [
        OffsetAnswer(0, ErrorCode.NONE, 1_700_000_000_000, 12, 3),
        OffsetAnswer(1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ]
    data = list_offsets.encode_response(version, [TopicOffsets("t", answers)])
    parsed = kio_oracle.response(Api.LIST_OFFSETS, version, data)
    good, bad = parsed.topics[0].partitions
    assert (good.partition_index, good.offset) == (0, 12)
    assert int(bad.error_code) == ErrorCode.NOT_LEADER_OR_FOLLOWER
