"""Columns to record batches, without a Python object for each record: the walk's way back.

The packing is done by one of two twins: `_pack_native` (Cython), which is there when a compiler was found at
installation, or `_pack_pure`; `PENSTOCK_PURE_WALK=1` in the environment forces the pure one, as in the walk.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.records.batch import (
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    TRANSACTIONAL_FLAG,
    Bytes,
    compute_crc,
    read_header,
)
from penstock.records.codecs import Codec, compress, decompress
from penstock.records.record import MAX_DECODED_BYTES, Record, decode_batch, encode_batch
from penstock.wire import _pack_pure
from penstock.wire._pack_pure import BinaryInput, HeaderInput, Packed, RecordColumns

__all__ = [
    "ACTIVE",
    "BinaryInput",
    "HeaderInput",
    "Packed",
    "Packer",
    "RecordColumns",
    "Stored",
    "pack_records",
    "partitions_of_keys",
    "seal",
    "split",
]


def _load_twin() -> object:
    if os.environ.get("PENSTOCK_PURE_WALK") == "1":
        return _pack_pure
    try:
        return import_module("penstock.wire._pack_native")
    except ImportError:
        return _pack_pure


_twin: Final = _load_twin()

ACTIVE: Final = "pure" if _twin is _pack_pure else "native"

if TYPE_CHECKING:
    from penstock.wire._pack_pure import Packer, partitions_of_keys
else:
    Packer = _twin.Packer
    partitions_of_keys = _twin.partitions_of_keys


def pack_records(records: Sequence[Record]) -> Packed:
    """A few records, as Python objects, packed."""
    batch = encode_batch(records)
    header = read_header(batch)
    return Packed(
        bytes(batch[HEADER_SIZE:]), header.records_count, header.base_timestamp, header.max_timestamp
    )


class Stored(NamedTuple):
    """The records section of a batch as another broker stored it: compressed already, or plain."""

    payload: Bytes
    record_count: int
    base_timestamp: int
    max_timestamp: int
    codec: Codec


def seal(
    packed: Packed | Stored,
    codec: Codec,
    *,
    producer_id: int,
    producer_epoch: int,
    sequence: int,
    transactional: bool = False,
) -> bytearray:
    """The batch: compressed, with header and CRC. Offsets begin at 0; the broker assigns the real ones. What
    was `Stored` keeps its codec."""
    batch = bytearray(HEADER_SIZE)
    if isinstance(packed, Stored):
        codec = packed.codec
        batch += packed.payload
    else:
        batch += packed.payload if codec is Codec.NONE else compress(codec, packed.payload)
    attributes = int(codec) | (TRANSACTIONAL_FLAG if transactional else 0)
    fields = (
        *(attributes, packed.record_count - 1, packed.base_timestamp, packed.max_timestamp),
        *(producer_id, producer_epoch, sequence, packed.record_count),
    )
    length = len(batch) - LENGTH_OVERHEAD
    HEADER.pack_into(batch, 0, 0, length, NO_LEADER_EPOCH, MAGIC, 0, *fields)
    crc = compute_crc(batch, 0, len(batch))  # which covers most of the header
    HEADER.pack_into(batch, 0, 0, length, NO_LEADER_EPOCH, MAGIC, crc, *fields)
    return batch


def split(packed: Packed | Stored) -> tuple[Packed, Packed]:
    """Two halves; for the rare batch that a broker finds too large."""
    if isinstance(packed, Stored):
        payload = decompress(packed.codec, packed.payload, MAX_DECODED_BYTES)
        packed = Packed(payload, packed.record_count, packed.base_timestamp, packed.max_timestamp)
    records = decode_batch(seal(packed, Codec.NONE, producer_id=-1, producer_epoch=-1, sequence=-1))
    half = len(records) // 2
    return pack_records(records[:half]), pack_records(records[half:])
