"""Records laid out as columns for Arrow, in plain Python: what runs where no compiler was found.

The specification of `_columns_native.pyx`; a property test holds the two equal. Called through
`penstock.records.walk`.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from penstock.records._walk_pure import (
    INT64_MAX,
    INT64_MIN,
    OFFSET,
    TIMESTAMP,
    WalkedRecord,
    refusal,
    walk_records,
)
from penstock.records.batch import Bytes

# Arrow's binary columns count their bytes in 32 bits.
MAX_COLUMN_BYTES = (1 << 31) - 1


class BinaryColumn(NamedTuple):
    """A nullable column of bytes in Arrow's layout."""

    offsets: Bytes
    """Row count + 1 positions in `data`, int32."""
    data: Bytes
    validity: Bytes | None
    """One bit a row, lowest bit first; None when no row is null."""


class HeaderColumns(NamedTuple):
    """A list of (key, value) for each row, never null. Keys are never null, and not checked to be UTF-8."""

    list_offsets: Bytes
    """Row count + 1 positions in the header arrays, int32."""
    header_count: int
    key: BinaryColumn
    value: BinaryColumn


class Columns(NamedTuple):
    """The records of one or several batches, field by field. A column that was not asked for is None."""

    rows: int
    offsets: Bytes
    timestamps_ms: Bytes
    timestamp_types: Bytes
    """int32: 0 for the producer's time, 1 for the time of appending."""
    key: BinaryColumn | None
    value: BinaryColumn | None
    headers: HeaderColumns | None


class ColumnBuilder:
    """Gathers the records of batch after batch into columns. A refused batch leaves nothing behind."""

    def __init__(self, *, keys: bool = True, values: bool = True, headers: bool = True) -> None:
        self._keys, self._values, self._headers = keys, values, headers
        self._clear()

    def _clear(self) -> None:
        self._rows: list[tuple[int, int, int, WalkedRecord]] = []
        self.size_bytes = 0

    @property
    def rows(self) -> int:
        return len(self._rows)

    def add(
        self,
        payload: Bytes,
        count: int,
        base_offset: int,
        base_timestamp: int,
        log_append_time: int | None = None,
        lower: int = 0,
        upper: int = INT64_MAX,
    ) -> None:
        """Add those of the `count` records in `payload` (decompressed) whose offset is at least `lower`
        and below `upper`.
        """
        view = memoryview(bytes(payload))
        if self.size_bytes + len(view) > MAX_COLUMN_BYTES:
            raise OverflowError("the columns would exceed what Arrow can address: take them first")
        added = []
        for index, record in enumerate(walk_records(view, count)):
            offset = base_offset + record.offset_delta
            if record.offset_delta < 0 or offset > INT64_MAX:
                raise refusal(index, OFFSET)
            timestamp = base_timestamp + record.timestamp_delta
            if log_append_time is not None:
                timestamp = log_append_time
            elif not INT64_MIN <= timestamp <= INT64_MAX:
                raise refusal(index, TIMESTAMP)
            if lower <= offset < upper:
                added.append((offset, timestamp, int(log_append_time is not None), record))
        self._rows += added
        self.size_bytes += len(view)

    def take(self) -> Columns:
        """What was gathered since the last time; the builder is empty afterwards."""
        rows = self._rows
        columns = Columns(
            rows=len(rows),
            offsets=array("q", [row[0] for row in rows]).tobytes(),
            timestamps_ms=array("q", [row[1] for row in rows]).tobytes(),
            timestamp_types=array("i", [row[2] for row in rows]).tobytes(),
            key=_binary([row[3].key for row in rows]) if self._keys else None,
            value=_binary([row[3].value for row in rows]) if self._values else None,
            headers=_header_columns([row[3].headers for row in rows]) if self._headers else None,
        )
        self._clear()
        return columns


def _binary(items: list[memoryview | None]) -> BinaryColumn:
    offsets, end = array("i", [0]), 0
    validity = bytearray((len(items) + 7) // 8)
    nulls = 0
    for index, item in enumerate(items):
        if item is None:
            nulls += 1
        else:
            end += len(item)
            validity[index >> 3] |= 1 << (index & 7)
        offsets.append(end)
    data = b"".join(item for item in items if item is not None)
    return BinaryColumn(offsets.tobytes(), data, bytes(validity) if nulls else None)


def _header_columns(rows: list[list[tuple[memoryview, memoryview | None]]]) -> HeaderColumns:
    list_offsets = array("i", [0])
    for headers in rows:
        list_offsets.append(list_offsets[-1] + len(headers))
    flat = [header for headers in rows for header in headers]
    return HeaderColumns(
        list_offsets.tobytes(),
        len(flat),
        _binary([key for key, _ in flat]),
        _binary([value for _, value in flat]),
    )
