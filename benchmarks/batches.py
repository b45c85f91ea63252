"""Record batches to send: of a given size on the wire, with a right CRC and base offset 0, encoded once.

The broker writes the offset into its own copy, so one batch can be sent any number of times.
"""

from __future__ import annotations

import random
import time
from functools import cache
from typing import Final, NamedTuple

from penstock.records.batch import HEADER_SIZE
from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch

MAX_BATCH_BYTES: Final = 1024 * 1024  # below the default of max.message.bytes, which is 1,048,588
_WORDS: Final = 2000
_ENTROPY_BYTES_PER_WORD: Final = 5
_RECORD_OVERHEAD_BYTES: Final = 11  # lengths, deltas and attributes, at most
_KEY_BYTES: Final = 12


class Batch(NamedTuple):
    """Bytes as a producer sends them, and how many records are in them."""

    data: bytes
    records: int


@cache
def batch_of(record_bytes: int, batch_bytes: int, codec: Codec = Codec.NONE, *, keys: int = 0) -> Batch:
    """As many records with values of `record_bytes` as make a batch of about `batch_bytes` on the wire.

    Values are text from a small vocabulary, so that a codec has work to do; compressed batches hold more
    records. With `keys` each record has one of that many keys, for topics that are compacted.
    """
    per_record = record_bytes + _RECORD_OVERHEAD_BYTES + (_KEY_BYTES if keys else 0)
    count = max(1, (batch_bytes - HEADER_SIZE) // per_record)
    batch = _encode(record_bytes, count, codec, keys)
    while codec is not Codec.NONE and len(batch.data) < batch_bytes * 0.9:
        count = int(count * min(4.0, batch_bytes / len(batch.data)) * 0.98) + 1
        larger = _encode(record_bytes, count, codec, keys)
        if len(larger.data) > batch_bytes:
            break
        batch = larger
    assert len(batch.data) <= max(batch_bytes, record_bytes + 100), "larger than was asked for"
    return batch


def _encode(record_bytes: int, count: int, codec: Codec, keys: int) -> Batch:
    chance = random.Random(record_bytes)
    words = [chance.randbytes(_ENTROPY_BYTES_PER_WORD).hex() for _ in range(_WORDS)]
    now_ms = time.time_ns() // 1_000_000
    records = []
    for _ in range(count):
        text = " ".join(chance.choices(words, k=record_bytes // (2 * _ENTROPY_BYTES_PER_WORD) + 1))
        key = b"%0*d" % (_KEY_BYTES, chance.randrange(keys)) if keys else None
        records.append(Record(key, text.encode()[:record_bytes], timestamp_ms=now_ms))
    return Batch(bytes(encode_batch(records, codec=codec)), count)
