"""Rows to parcels and back, without Spark around them: every row in the shard of its partition, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from penstock.client.arrow.routing import UnusableRow
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.records.record import decode_batch
from penstock.spark.options import write_options
from penstock.spark.sharding import packing, unpacked
from penstock.wire.pack import seal
from penstock.wire.partitioner import partition_for_key

SHARDS = 2
KEY_AND_VALUE = frozenset({"key", "value"})


@pytest.fixture
def servers(penstock_servers: str) -> str:
    return penstock_servers


def rows(*numbers: int) -> pa.RecordBatch:
    keys = [None if number % 10 == 9 else b"%d" % (number % 10) for number in numbers]
    values = [None if number % 7 == 6 else b"%d" % number for number in numbers]
    return pa.RecordBatch.from_arrays(
        [pa.array(keys, pa.binary()), pa.array(values, pa.binary())], ["key", "value"]
    )


def parcels(servers: str, topic: str, *batches: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    options = write_options({"kafka.bootstrap.servers": servers, "topic": topic})
    return packing(KEY_AND_VALUE, options, SHARDS)(iter(batches))


def records(batch: pa.RecordBatch) -> list[tuple[TopicPartition, bytes | None, bytes | None]]:
    found = []
    for place, packed in unpacked(batch):
        sealed = seal(packed, Codec.NONE, producer_id=1, producer_epoch=0, sequence=0)
        found += [(place, record.key, record.value) for record in decode_batch(sealed)]
    return found


def test_every_row_comes_back_from_the_parcel_of_its_partition_in_order(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic, numbers = new_topic(partitions=3), list(range(5000))
    packed = list(parcels(servers, topic, rows(*numbers[:2000]), rows(*numbers[2000:])))
    found = [record for batch in packed for record in records(batch)]
    assert sorted(value or b"" for _, _, value in found) == sorted(
        b"" if number % 7 == 6 else b"%d" % number for number in numbers
    )
    for place, key, _ in found:
        assert key is None or place == (topic, partition_for_key(key, 3))
    for partition in range(3):
        kept = [int(value) for place, _, value in found if place.partition == partition and value]
        assert kept == sorted(kept)


def test_a_partition_has_one_shard_and_parcels_are_numbered(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=4)
    large = pa.RecordBatch.from_arrays(
        [pa.array([b"k"] * 3 + [b"l"], pa.binary()), pa.array([bytes(600_000)] * 4, pa.binary())],
        ["key", "value"],
    )
    found = pa.Table.from_batches(parcels(servers, topic, large, rows(1, 2, 3))).to_pylist()
    assert [row["number"] for row in found] == list(range(len(found)))
    assert {row["source"] for row in found} == {0}
    shards = {(row["partition"], row["shard"]) for row in found}
    assert len(shards) == len({partition for partition, _ in shards}), "a partition in two shards"
    assert max(len(row["payload"]) for row in found) < 1_000_000


def test_rows_without_a_topic_are_refused_before_anything_travels(servers: str) -> None:
    options = write_options({"kafka.bootstrap.servers": servers})
    batch = pa.RecordBatch.from_arrays([pa.array([None], pa.string()), pa.array([b"x"])], ["topic", "value"])
    with pytest.raises(UnusableRow, match="a row has no topic"):
        list(packing(frozenset({"topic", "value"}), options, SHARDS)(iter([batch])))
