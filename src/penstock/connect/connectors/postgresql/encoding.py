"""Changes of one form of a table straight to JSON, for converters that write nothing else.

A record has a beginning and an end that are the same for all rows of a transaction; between them stand the
cells of the row, each written from the text that the server sent. The result is, byte for byte, what the
converters make of the table's records. Whatever is not common goes that longer way.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from penstock.connect.api.source import EncodedPortion, JsonForms, Place
from penstock.connect.connectors.postgresql.envelope import Column, Moment, Table
from penstock.connect.connectors.postgresql.pgoutput import Cell, Change
from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.converters.json_text import quoted
from penstock.connect.data import schema as s
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Type

_INTEGERS: Final = (Type.INT16, Type.INT32, Type.INT64)
_INTEGER_OIDS: Final = (20, 21, 23, 26)
OPERATIONS: Final = {"I": "c", "U": "u", "D": "d"}
_BEFORE: Final = '{"before":null,"after":'
Write = Callable[[bytes], bytes]


class Encoded(NamedTuple):
    key: bytes | None
    value: bytes | None


class Written(NamedTuple):
    """Records of one topic."""

    topic: str
    rows: list[Encoded]


class Gathered:
    """Records of several topics, and where the source stands after the last."""

    def __init__(self) -> None:
        self._topics: dict[str, list[Encoded]] = {}
        self._count = 0
        self.offset: Place = {}

    def __len__(self) -> int:
        return self._count

    def add(self, written: Written, offset: Place) -> None:
        found = self._topics.get(written.topic)
        if found is None:
            found = self._topics[written.topic] = []
        found += written.rows
        self._count += len(written.rows)
        self.offset = offset

    def portions(self, place: Place) -> list[EncodedPortion]:
        return [
            EncodedPortion(
                place, self.offset, topic, [each.key for each in rows], [each.value for each in rows]
            )
            for topic, rows in self._topics.items()
        ]


class JsonRows:
    """Of one table and two converters, in one thread."""

    def __init__(self, table: Table, forms: JsonForms) -> None:
        self._table, self._forms = table, forms
        columns = table.columns
        self._cells = _named([(each.name, _writer(each, forms.value)) for each in columns])
        self._optional = [each.schema.optional for each in columns]
        places = {each.name: index for index, each in enumerate(columns)}
        self._key = [
            (part, places[name], _writer(columns[places[name]], forms.key))
            for part, name in zip(_named_parts(table.key), table.key, strict=True)
        ]
        first, last = ("", "") if table.key_schema is None else forms.key.around(table.key_schema)
        self._key_around = (first.encode(), f"}}{last}".encode())
        self._last: tuple[Moment | None, dict[str, tuple[bytes, bytes]]] = (None, {})

    def changed(self, change: Change, moment: Moment) -> list[Encoded] | None:
        """The records of a change; None if they have headers, which bytes have not."""
        if change.after is not None and change.before is None:
            found = self._quick(OPERATIONS[change.kind], change.after, moment)
            if found is not None:
                return [found]
        records = self._table.changed(change, moment)
        return None if any(each.headers for each in records) else [self._slow(each) for each in records]

    def read(self, cells: Sequence[str | None], moment: Moment) -> list[Encoded]:
        """A row of a snapshot."""
        found = self._quick("r", [None if each is None else each.encode() for each in cells], moment)
        return [found if found is not None else self._slow(self._table.read(cells, moment))]

    def _quick(self, op: str, cells: Sequence[Cell], moment: Moment) -> Encoded | None:
        if not self._cells:
            return None
        texts = []
        for (name, write), cell, optional in zip(self._cells, cells, self._optional, strict=True):
            if type(cell) is bytes:
                texts.append(name + write(cell))
            elif cell is None and optional:
                texts.append(name + b"null")
            else:
                return None
        first, last = self._around(op, moment)
        return Encoded(self._key_of(cells), b"".join((first, *texts, last)))

    def _key_of(self, cells: Sequence[Cell]) -> bytes | None:
        if not self._key:
            return None
        parts = [self._key_around[0]]
        for name, place, write in self._key:
            cell = cells[place]
            parts.append(name + (write(cell) if type(cell) is bytes else b"null"))
        return b"".join((*parts, self._key_around[1]))

    def _around(self, op: str, moment: Moment) -> tuple[bytes, bytes]:
        """The same for all rows of a transaction with the same operation."""
        if self._last[0] is not moment:
            self._last = (moment, {})
        found = self._last[1].get(op)
        if found is None:
            schema = self._table.schema
            text = self._forms.value.writer(schema)(self._table.envelope(op, None, None, moment))
            assert text.startswith(_BEFORE + "null,"), text[:100]
            first, last = self._forms.value.around(schema)
            rest = text[len(_BEFORE) + len("null") :]
            found = ((first + _BEFORE).encode(), ("}" + rest + last).encode())
            self._last[1][op] = found
        return found

    def _slow(self, record: ConnectRecord) -> Encoded:
        key = None
        if record.key is not None or record.key_schema is not None:
            key = self._forms.key.from_connect(record.key_schema, record.key)
        return Encoded(key, self._forms.value.from_connect(record.value_schema, record.value))


def _named_parts(names: Sequence[str]) -> list[bytes]:
    return [f"{',' if number else '{'}{quoted(name)}:".encode() for number, name in enumerate(names)]


def _named(writers: Sequence[tuple[str, Write]]) -> list[tuple[bytes, Write]]:
    names = _named_parts([name for name, _ in writers])
    return [(name, write) for name, (_, write) in zip(names, writers, strict=True)]


def _writer(column: Column, converter: JsonConverter) -> Write:
    """The text of a cell, which is not null, as JSON."""
    schema, decode = column.schema, column.decode
    if column.oid in _INTEGER_OIDS and schema.type in _INTEGERS:
        return lambda cell: cell  # the server writes them as JSON does
    if schema.type is Type.STRING and decode is str:
        return lambda cell: quoted(cell.decode()).encode()
    write = converter.writer(schema)

    def long_way(cell: bytes) -> bytes:
        return write(decode(cell.decode())).encode()

    if schema.name == s.DECIMAL_NAME and converter.decimals_are_base64:
        return _decimal(s.decimal_scale(schema), long_way)
    return long_way


def _decimal(scale: int, long_way: Write) -> Write:
    def write(cell: bytes) -> bytes:
        whole, _, fraction = cell.partition(b".")
        digits = whole + fraction
        if len(fraction) != scale or not digits.removeprefix(b"-").isdigit():
            return long_way(cell)
        unscaled = int(digits)
        size = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
        return b'"' + b64encode(unscaled.to_bytes(size, "big", signed=True)) + b'"'

    return write
