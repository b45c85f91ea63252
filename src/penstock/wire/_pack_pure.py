"""Packing columns into records in plain Python: what runs where no compiler was found at installation.

It is also the specification of `_pack_native.pyx`; a property test holds the two equal. Nobody imports this
module but `penstock.wire.pack` and that test.
"""

from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

from penstock.records.batch import Bytes
from penstock.records.varint import write_varlong
from penstock.wire.partitioner import partition_for_key

MAX_RECORD_BYTES = (1 << 31) - 1


class BinaryInput(NamedTuple):
    """A column of bytes in Arrow's layout; row 0 is the one at `first`."""

    offsets: Bytes
    data: Bytes
    validity: Bytes | None
    first: int = 0


class HeaderInput(NamedTuple):
    """A list of (key, value) for each row; a null list is an empty one."""

    list_offsets: Bytes
    validity: Bytes | None
    key: BinaryInput
    value: BinaryInput
    first: int = 0


class RecordColumns(NamedTuple):
    """Records to be packed, field by field. A field that there is not is null in every record."""

    rows: int
    timestamps_ms: Bytes
    """int64, one a row."""
    key: BinaryInput | None
    value: BinaryInput | None
    headers: HeaderInput | None


class Packed(NamedTuple):
    """The records section of one batch, uncompressed."""

    payload: Bytes
    record_count: int
    base_timestamp: int
    max_timestamp: int


class Packer:
    """Gathers rows into the records section of one batch of at most `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._clear()

    def _clear(self) -> None:
        self._payload = bytearray()
        self.count = 0
        self._base_timestamp = self._max_timestamp = 0

    @property
    def size_bytes(self) -> int:
        return len(self._payload)

    def add(self, columns: RecordColumns, rows: Bytes, start: int = 0) -> int:
        """Add the rows whose numbers (int32) stand in `rows` from `start` on; where the room ended.

        A row that alone is larger than the room is taken when it is the first: the broker decides about it.
        """
        numbers = memoryview(rows).cast("B").cast("i")
        times = memoryview(columns.timestamps_ms).cast("B").cast("q")
        for position in range(start, len(numbers)):
            row = numbers[position]
            if not 0 <= row < columns.rows or row >= len(times):
                raise ValueError(f"there is no row {row}")
            if not self._add_row(columns, row, times[row]):
                return position
        return len(numbers)

    def _add_row(self, columns: RecordColumns, row: int, timestamp: int) -> bool:
        base = self._base_timestamp if self.count else timestamp
        body = bytearray(1)
        write_varlong(body, _wrapped(timestamp - base))
        write_varlong(body, self.count)
        _write_field(body, field(columns.key, row))
        _write_field(body, field(columns.value, row))
        headers = _headers(columns.headers, row)
        write_varlong(body, len(headers))
        for name, value in headers:
            _write_field(body, name)
            _write_field(body, value)
        if len(body) > MAX_RECORD_BYTES:
            raise ValueError("a row is too large for a record")
        record = bytearray()
        write_varlong(record, len(body))
        if self.count and len(self._payload) + len(record) + len(body) > self._max_bytes:
            return False
        self._payload += record
        self._payload += body
        self._max_timestamp = max(self._max_timestamp, timestamp) if self.count else timestamp
        self._base_timestamp = base
        self.count += 1
        return True

    def take(self) -> Packed:
        """What was gathered; the packer is empty afterwards."""
        packed = Packed(bytes(self._payload), self.count, self._base_timestamp, self._max_timestamp)
        self._clear()
        return packed


def partitions_of_keys(key: BinaryInput, rows: int, partition_count: int, without_key: int) -> bytes:
    """The partition (int32) of each row by its key, or `without_key`."""
    chosen = array("i")
    for row in range(rows):
        data = field(key, row)
        chosen.append(without_key if data is None else partition_for_key(data, partition_count))
    return chosen.tobytes()


def field(column: BinaryInput | None, row: int) -> memoryview | None:
    """The bytes of one row, or None."""
    if column is None or not _valid(column.validity, column.first + row):
        return None
    place = column.first + row
    if (place + 2) * 4 > len(column.offsets):
        raise ValueError("a column is shorter than its rows")
    begin, end = struct.unpack_from("=ii", column.offsets, place * 4)
    if not 0 <= begin <= end <= len(column.data):
        raise ValueError("a column's offsets point outside its data")
    return memoryview(column.data)[begin:end]


def _valid(validity: Bytes | None, place: int) -> bool:
    if validity is None:
        return True
    if place >> 3 >= len(validity):
        raise ValueError("a column is shorter than its rows")
    return bool(validity[place >> 3] >> (place & 7) & 1)


def _headers(headers: HeaderInput | None, row: int) -> list[tuple[memoryview, memoryview | None]]:
    if headers is None or not _valid(headers.validity, headers.first + row):
        return []
    place = headers.first + row
    if (place + 2) * 4 > len(headers.list_offsets):
        raise ValueError("a column is shorter than its rows")
    begin, end = struct.unpack_from("=ii", headers.list_offsets, place * 4)
    if not 0 <= begin <= end:
        raise ValueError("a column's offsets point outside its data")
    pairs = []
    for index in range(begin, end):
        name = field(headers.key, index)
        if name is None:
            raise ValueError("a row has a header without a key")
        pairs.append((name, field(headers.value, index)))
    return pairs


def _wrapped(number: int) -> int:
    """As 64-bit arithmetic has it; times so far apart are no times, but they must not break a batch."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _write_field(out: bytearray, data: memoryview | None) -> None:
    if data is None:
        write_varlong(out, -1)
    else:
        write_varlong(out, len(data))
        out += data
