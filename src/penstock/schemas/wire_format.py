"""The frame before a value that was written with a registry: a zero byte, the id of its schema in four bytes.

Protobuf has the place of the message in its schema after it: a count and so many indexes, zigzag varints,
with a single zero for the first message. Newer clients can put a GUID into a header of the record instead
(`KEY_HEADER`, `VALUE_HEADER`): a byte 1, the GUID's 16 bytes and Protobuf's indexes. Serialisers of every
language write the same; `spark` and `rest` read and write it here.
"""

from __future__ import annotations

import struct
import uuid
from typing import Final

from penstock.records.varint import MalformedVarint, read_varint, write_varlong
from penstock.schemas.errors import InvalidFrame

MAGIC: Final = 0
MAGIC_GUID: Final = 1
KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"
HEADER_BYTES: Final = 5
INDEXES_MAX: Final = 100
"""The deepest nesting of messages that is read; real schemas stay far below."""

_HEADER: Final = struct.Struct(">bI")
_FIRST_MESSAGE: Final = (0,)

Bytes = bytes | memoryview


def write_header(schema_id: int) -> bytes:
    return _HEADER.pack(MAGIC, schema_id)


def read_header(data: Bytes) -> int:
    """The id of the schema; the value begins at `HEADER_BYTES`."""
    if len(data) < HEADER_BYTES:
        raise InvalidFrame(
            f"it has {len(data)} bytes, and a value with a schema has at least {HEADER_BYTES}: "
            "was it written without a registry?"
        )
    magic, schema_id = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise InvalidFrame(
            f"it begins with byte {magic & 0xFF} where a value with a schema has 0: was it written without a "
            "registry?"
        )
    return int(schema_id)


def write_guid(guid: uuid.UUID, indexes: tuple[int, ...] | None = None) -> bytes:
    """The value of a schema id header; `indexes` for Protobuf only."""
    return bytes([MAGIC_GUID]) + guid.bytes + (b"" if indexes is None else write_indexes(indexes))


def read_guid(header: bytes) -> tuple[uuid.UUID, bytes]:
    """The GUID of a schema id header, and what follows it."""
    if len(header) < 17 or header[0] != MAGIC_GUID:
        raise InvalidFrame(f"the header {header[:17].hex()} is no schema GUID: byte 1 and 16 more are")
    return uuid.UUID(bytes=header[1:17]), header[17:]


def write_indexes(indexes: tuple[int, ...]) -> bytes:
    if indexes == _FIRST_MESSAGE:
        return b"\x00"
    out = bytearray()
    write_varlong(out, len(indexes))
    for index in indexes:
        write_varlong(out, index)
    return bytes(out)


def read_indexes(data: Bytes, position: int) -> tuple[tuple[int, ...], int]:
    """The path of a message in its file, outermost first, and where the message itself begins."""
    try:
        count, position = read_varint(data, position)
        if not 0 <= count <= INDEXES_MAX:
            raise InvalidFrame(f"it names a message by {count} indexes")
        indexes = []
        for _ in range(count):
            index, position = read_varint(data, position)
            if index < 0:
                raise InvalidFrame(f"it names a message by the index {index}")
            indexes.append(index)
    except MalformedVarint as error:
        raise InvalidFrame(f"the indexes of its message are broken: {error}") from None
    return tuple(indexes) or _FIRST_MESSAGE, position
