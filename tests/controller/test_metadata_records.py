"""Records of `__cluster_metadata` as bytes. The golden bytes are in the layout of Kafka's generated
classes."""

from __future__ import annotations

import pytest

from penstock.controller.broker_records import BrokerRegistrationChangeRecord
from penstock.controller.directory_ids import LOST, UNASSIGNED
from penstock.controller.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
    decode,
    encode,
)
from penstock.controller.partition_records import PartitionChangeRecord
from penstock.protocol.primitives import MalformedMessage

TOPIC_ID = bytes(range(16))
RECORDS: list[MetadataRecord] = [
    TopicRecord("orders", TOPIC_ID),
    PartitionRecord(3, TOPIC_ID, (1, 2), (1,), leader=1, leader_epoch=4, partition_epoch=9),
    PartitionRecord(3, TOPIC_ID, (1, 2), (1,), 1, 4, 9, directories=(UNASSIGNED, b"d" * 16)),
    PartitionChangeRecord(3, TOPIC_ID, directories=(LOST, b"d" * 16)),
    PartitionChangeRecord(3, TOPIC_ID, replicas=(1,), directories=()),
    BrokerRegistrationChangeRecord(1, 7, directories=(b"d" * 16,)),
    ConfigRecord(2, "orders", "retention.ms", "1000"),
    ConfigRecord(2, "orders", "retention.ms", None),
    RemoveTopicRecord(TOPIC_ID),
    ProducerIdsRecord(1, -1, 5000),
    ClientQuotaRecord((("client-id", None), ("user", "alice")), "producer_byte_rate", 12.5, remove=False),
    ClientQuotaRecord((("ip", "1.2.3.4"),), "connection_creation_rate", 0.0, remove=True),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_comes_back_as_it_went(record: MetadataRecord) -> None:
    assert decode(encode(record)) == record


def test_a_topic_record_has_kafkas_bytes() -> None:
    assert encode(TopicRecord("orders", TOPIC_ID)) == b"\x01\x02\x00" + b"\x07orders" + TOPIC_ID + b"\x00"


def test_a_config_record_has_kafkas_bytes() -> None:
    assert (
        encode(ConfigRecord(2, "t", "k", None))
        == b"\x01\x04\x00" + b"\x02" + b"\x02t" + b"\x02k" + b"\x00" + b"\x00"
    )


def test_a_quota_record_has_kafkas_bytes() -> None:
    record = ClientQuotaRecord((("user", None),), "k", 1.0, remove=False)
    value = bytes.fromhex("3ff0000000000000")
    assert encode(record) == b"\x01\x0e\x00" + b"\x02\x05user\x00\x00" + b"\x02k" + value + b"\x00\x00"


@pytest.mark.parametrize("data", [b"", b"\x01\x63\x00", b"\x02\x02\x00\x02t", b"\x01\x02\x07\x02t"])
def test_a_record_that_is_not_known_is_refused_and_never_skipped(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode(data)
