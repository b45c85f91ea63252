"""Which partition a record goes to, as Kafka's Java producer decides it.

A keyed record goes where murmur2 of its key says, so that producers in every language agree. Records
without a key stick to one partition for a while (KIP-480): whole batches instead of a few records to each
partition.
"""

from __future__ import annotations

import random
import struct
from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes | memoryview) -> int:
    """Murmur2 as Kafka has it; an unsigned 32-bit number."""
    size = len(data)
    mixed = _SEED ^ size
    for (word,) in struct.iter_unpack("<I", data[: size & ~3]):
        word = word * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        mixed = mixed * _MULTIPLIER & _MASK ^ word
    tail = data[size & ~3 :]
    if tail:
        mixed = (mixed ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _MASK
    mixed = (mixed ^ mixed >> 13) * _MULTIPLIER & _MASK
    return mixed ^ mixed >> 15


def partition_for_key(key: bytes | memoryview, partition_count: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """For records without a key: the same partition until `switch`, then another."""

    def __init__(self, partition_count: int, chooser: random.Random | None = None) -> None:
        self._count = partition_count
        self._random = chooser or random.Random()
        self.partition = self._random.randrange(partition_count)

    def switch(self) -> None:
        if self._count > 1:
            step = self._random.randrange(1, self._count)
            self.partition = (self.partition + step) % self._count
