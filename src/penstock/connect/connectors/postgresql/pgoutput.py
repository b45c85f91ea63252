"""Messages of PostgreSQL's logical decoding plugin `pgoutput`, protocol version 1. Pure: bytes in, tuples
out."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from penstock.connect.errors import DataError

_BEGIN: Final = struct.Struct(">qqi")
_COMMIT: Final = struct.Struct(">bqqq")
_COLUMN: Final = struct.Struct(">ii")
POSTGRES_EPOCH_US: Final = 946_684_800_000_000
"""PostgreSQL counts microseconds from the year 2000."""


class _Unchanged:
    """A large value that an update did not touch, and that the server therefore does not send."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = _Unchanged()
Cell = bytes | None | _Unchanged
Tuple = list[Cell]


class Begin(NamedTuple):
    final_lsn: int
    """Where the commit begins."""
    commit_us: int
    xid: int


class Commit(NamedTuple):
    end_lsn: int
    commit_us: int


class RelationColumn(NamedTuple):
    name: str
    in_identity: bool
    type_oid: int
    modifier: int


class Relation(NamedTuple):
    oid: int
    schema: str
    table: str
    identity: str
    """d: the primary key, f: all columns, i: an index, n: nothing."""
    columns: tuple[RelationColumn, ...]


class Change(NamedTuple):
    """A row: `I`, `U` or `D`. `before_kind` is `K` (key only), `O` (all), or empty."""

    kind: str
    relation: int
    before_kind: str
    before: Tuple | None
    after: Tuple | None


class Truncate(NamedTuple):
    relations: tuple[int, ...]


Message = Begin | Commit | Relation | Change | Truncate | None


def parse(data: bytes) -> Message:
    """None for messages that say nothing of rows (types, origins)."""
    kind = data[0:1]
    match kind:
        case b"I" | b"U" | b"D":
            return _change(kind.decode(), data)
        case b"B":
            lsn, moment, xid = _BEGIN.unpack_from(data, 1)
            return Begin(lsn, moment + POSTGRES_EPOCH_US, xid & 0xFFFFFFFF)
        case b"C":
            _, _, end, moment = _COMMIT.unpack_from(data, 1)
            return Commit(end, moment + POSTGRES_EPOCH_US)
        case b"R":
            return _relation(data)
        case b"T":
            count = int.from_bytes(data[1:5], "big")
            oids = struct.unpack_from(f">{count}I", data, 6)
            return Truncate(oids)
        case b"Y" | b"O" | b"M":
            return None
    raise DataError(f"pgoutput sent a message of the unknown kind {kind!r}")


def _relation(data: bytes) -> Relation:
    oid = int.from_bytes(data[1:5], "big")
    schema, at = _text(data, 5)
    table, at = _text(data, at)
    identity = chr(data[at])
    count = int.from_bytes(data[at + 1 : at + 3], "big")
    at += 3
    columns = []
    for _ in range(count):
        flags = data[at]
        name, at = _text(data, at + 1)
        type_oid, modifier = _COLUMN.unpack_from(data, at)
        at += 8
        columns.append(RelationColumn(name, bool(flags & 1), type_oid & 0xFFFFFFFF, modifier))
    return Relation(oid, schema or "pg_catalog", table, identity, tuple(columns))


def _change(kind: str, data: bytes) -> Change:
    relation, at = int.from_bytes(data[1:5], "big"), 5
    before_kind, before, after = "", None, None
    if data[at : at + 1] in (b"K", b"O"):
        before_kind = chr(data[at])
        before, at = _tuple(data, at + 1)
    if kind != "D":
        after, at = _tuple(data, at + 1)
    return Change(kind, relation, before_kind, before, after)


def _tuple(data: bytes, at: int) -> tuple[Tuple, int]:
    count = int.from_bytes(data[at : at + 2], "big")
    at += 2
    cells: Tuple = []
    for _ in range(count):
        kind = data[at]
        at += 1
        if kind == 0x74:  # t: text
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            cells.append(data[at + 4 : end])
            at = end
        elif kind == 0x6E:  # n: null
            cells.append(None)
        elif kind == 0x75:  # u: unchanged
            cells.append(UNCHANGED)
        else:
            raise DataError(f"pgoutput sent a value of the unknown kind {kind:#x}")
    return cells, at


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode(), end + 1
