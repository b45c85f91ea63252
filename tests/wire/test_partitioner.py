"""The partitioner gives what Kafka's Java producer gives."""

from __future__ import annotations

import random

import pytest

from penstock.wire.partitioner import StickyPartitioner, murmur2, partition_for_key


@pytest.mark.parametrize(
    ("key", "signed"),
    [  # from Kafka's own UtilsTest
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF
    assert murmur2(memoryview(key)) == signed & 0xFFFFFFFF


def test_the_partition_of_a_key_is_never_negative() -> None:
    assert partition_for_key(b"foobar", 6) == (-790332482 & 0x7FFFFFFF) % 6


def test_records_without_a_key_stick_until_the_switch_and_then_go_elsewhere() -> None:
    partitioner = StickyPartitioner(3, random.Random(1))
    for _ in range(20):
        before = partitioner.partition
        assert partitioner.partition == before
        partitioner.switch()
        assert partitioner.partition != before
        assert 0 <= partitioner.partition < 3


def test_one_partition_is_all_there_is() -> None:
    partitioner = StickyPartitioner(1)
    partitioner.switch()
    assert partitioner.partition == 0
