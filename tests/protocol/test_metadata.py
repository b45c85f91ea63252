"""Metadata in every version, judged by kio."""

from __future__ import annotations

import pytest

from penstock.protocol import metadata
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.metadata import Node, PartitionInfo, TopicInfo, TopicWanted
from tests.protocol import kio_oracle

TOPIC_ID = bytes(range(16))


@pytest.mark.parametrize("version", range(14))
def test_a_request_for_named_topics_is_read(version: int) -> None:
    reader = kio_oracle.reader_of(
        Api.METADATA,
        version,
        {
            "topics": [{"name": "a", "topic_id": None}, {"name": "b", "topic_id": None}],
            "allow_auto_topic_creation": False,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": True,
        },
    )
    request = metadata.read_request(reader, version)
    assert request.topics == [TopicWanted("a", bytes(16)), TopicWanted("b", bytes(16))]
    assert request.allow_auto_creation is (version < 4)
    assert request.include_topic_operations is (version >= 8)


@pytest.mark.parametrize("version", range(14))
def test_all_topics_are_asked_for_with_an_empty_list_at_first_and_with_null_later(version: int) -> None:
    fields = {
        "topics": () if version == 0 else None,
        "allow_auto_topic_creation": True,
        "include_cluster_authorized_operations": False,
        "include_topic_authorized_operations": False,
    }
    request = metadata.read_request(kio_oracle.reader_of(Api.METADATA, version, fields), version)
    assert request.topics is None


@pytest.mark.parametrize("version", range(14))
def test_a_response_is_what_kio_expects(version: int) -> None:
    data = metadata.encode_response(
        version,
        brokers=[Node(1, "host", 9092, "rack")],
        cluster_id="cluster",
        controller_id=1,
        topics=[
            TopicInfo(
                ErrorCode.NONE,
                "t",
                TOPIC_ID,
                False,
                [PartitionInfo(ErrorCode.NONE, 0, 1, 4, (1, 2), (1,), (2,))],
            ),
            TopicInfo(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "u", bytes(16), False, ()),
        ],
    )
    parsed = kio_oracle.response(Api.METADATA, version, data)
    assert parsed.brokers[0].host == "host"
    found, missing = parsed.topics
    assert found.name == "t"
    assert found.partitions[0].leader_id == 1
    assert tuple(found.partitions[0].replica_nodes) == (1, 2)
    assert int(missing.error_code) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
