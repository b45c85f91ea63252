"""Control batches that end a transaction: one record, commit or abort (Kafka's EndTransactionMarker).

The key is version and type, the value version and the coordinator's epoch; producer id and epoch stand in the
batch's header. Compaction may leave a control batch without its record: then it only keeps the epoch. Made by
`replication`, read by `storage`, `server.following.shard_log` and the wire client. Other kinds of control
records (a quorum's) are nobody's business here.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from penstock.records.batch import (
    DELETE_HORIZON_FLAG,
    NO_SEQUENCE,
    Bytes,
    CorruptBatch,
    build,
    read_header,
)
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.records.varint import write_varlong

_ABORT = 0
_COMMIT = 1
_VERSION = 0
_KEY = Struct(">hh")
_VALUE = Struct(">hi")


class EndMarker(NamedTuple):
    """How a transaction ended, and in which epoch of its coordinator."""

    commit: bool
    coordinator_epoch: int


def encode_marker(
    commit: bool, *, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp_ms: int
) -> bytearray:
    """The batch that ends the open transaction of a producer."""
    key = _KEY.pack(_VERSION, _COMMIT if commit else _ABORT)
    value = _VALUE.pack(_VERSION, coordinator_epoch)
    return encode_batch(
        [Record(key, value, timestamp_ms=timestamp_ms)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=NO_SEQUENCE,
        transactional=True,
        control=True,
    )


def with_delete_horizon(buffer: Bytes, horizon_ms: int) -> bytes:
    """The marker with the time from which on the cleaner may drop it; its record keeps its own time."""
    header = read_header(buffer)
    (record,) = decode_batch(buffer)
    body = bytearray(1)  # attributes: none are defined
    write_varlong(body, record.timestamp_ms - horizon_ms)
    write_varlong(body, 0)
    for field in (record.key or b"", record.value or b""):
        write_varlong(body, len(field))
        body += field
    write_varlong(body, 0)  # headers
    payload = bytearray()
    write_varlong(payload, len(body))
    attributes = header.attributes | DELETE_HORIZON_FLAG
    return build(header._replace(attributes=attributes, base_timestamp=horizon_ms), payload + body)


def read_marker(buffer: Bytes, position: int = 0) -> EndMarker | None:
    """What the control batch at `position` says; None when it says nothing of transactions (any more)."""
    if not read_header(buffer, position).records_count:
        return None
    record = decode_batch(buffer, position)[0]
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptBatch("a control record without version and type")
    _, kind = _KEY.unpack_from(record.key)
    if kind not in (_ABORT, _COMMIT):
        return None
    if record.value is None or len(record.value) < _VALUE.size:
        raise CorruptBatch("an end of transaction without version and coordinator epoch")
    version, coordinator_epoch = _VALUE.unpack_from(record.value)
    if version < 0:
        raise CorruptBatch(f"version {version} of an end of transaction")
    return EndMarker(kind == _COMMIT, coordinator_epoch)
