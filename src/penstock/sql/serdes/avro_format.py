"""AVRO: a frame with the id of a schema, and a value of it. fastavro writes and reads the bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, Final

from penstock.plan.row_schemas import ColumnSchema
from penstock.schemas.avro.schema import parse_avro
from penstock.schemas.avro.weight import has_weightless_array
from penstock.schemas.errors import InvalidFrame, InvalidSchema
from penstock.schemas.wire_format import HEADER_BYTES, read_header, write_header
from penstock.sql.serdes.avro_schema import bare_schema, record_schema
from penstock.sql.serdes.avro_shape import Shape, shape_of
from penstock.sql.serdes.codec import FormatError, Row, unreadable, unwritable
from penstock.sql.serdes.generic_values import converter, fields_converter
from penstock.sql.serdes.registration import Registration

_BROKEN: Final = (ValueError, TypeError, KeyError, IndexError, EOFError, MemoryError, OverflowError)


class AvroCodec:
    def __init__(
        self, columns: Sequence[ColumnSchema], part: str, *, wrapped: bool, registration: Registration
    ) -> None:
        self._columns, self._part, self._registration = tuple(columns), part, registration
        self._bare = not wrapped and len(columns) == 1
        self._names = [column.name for column in columns]
        self._one = converter(columns[0].type) if self._bare else None
        self._fields = fields_converter([(column.name, column.type) for column in columns])
        self._readers: dict[int, Any] = {}
        self._writers: dict[int, tuple[Any, Shape]] = {}

    def encode(self, topic: str, row: Sequence[Any]) -> bytes | None:
        import fastavro  # where it is used: most queries have no Avro

        if self._bare and row[0] is None:
            return None
        schema_id = self._registration.id_for(topic)
        schema, shape = self._writer(schema_id)
        out = io.BytesIO(write_header(schema_id))
        out.seek(HEADER_BYTES)
        try:
            made = shape(row[0] if self._bare else dict(zip(self._names, row, strict=True)))
            fastavro.schemaless_writer(out, schema, made)
        except (*_BROKEN, AttributeError) as error:
            raise unwritable(topic, self._part, f"Error serializing row to avro: {error}") from error
        return out.getvalue()

    def decode(self, topic: str, data: bytes) -> Row | None:
        import fastavro

        try:
            schema = self._reader(read_header(data))
            value = fastavro.schemaless_reader(io.BytesIO(data[HEADER_BYTES:]), schema, None)
            return self._row(value)
        except (InvalidFrame, InvalidSchema, FormatError, *_BROKEN) as error:
            raise unreadable(topic, self._part, error) from error

    def _row(self, value: Any) -> Row | None:
        if value is None:
            return None
        if self._one is not None:
            return [self._one(value)]
        if not isinstance(value, dict):
            raise FormatError(f"A record is wanted, and the value is {value!r:.80}")
        return self._fields(value)

    def _reader(self, schema_id: int) -> Any:
        if schema_id not in self._readers:
            self._readers[schema_id] = parsed(self._registration.schemas.by_id(schema_id))
        return self._readers[schema_id]

    def _writer(self, schema_id: int) -> tuple[Any, Shape]:
        """The schema to write with, and what gives a row its form."""
        if schema_id not in self._writers:
            schema = parsed(self._registration.schemas.by_id(schema_id))
            self._writers[schema_id] = schema, shape_of(schema)
        return self._writers[schema_id]


def schema_text(columns: Sequence[ColumnSchema], *, wrapped: bool, full_name: str) -> str:
    """The schema that ksqlDB registers for these columns."""
    bare = not wrapped and len(columns) == 1
    made = bare_schema(columns[0], full_name) if bare else record_schema(columns, full_name)
    return json.dumps(made, separators=(",", ":"))


def parsed(schema: Any) -> Any:
    """A registered schema as fastavro takes it. Of the logical types only decimals are left: times stay
    numbers.
    """
    import fastavro

    from penstock.schemas.avro.writing import canonical

    found = parse_avro(schema.text, dict(schema.references), strict=False)
    if has_weightless_array(found.root):
        raise InvalidSchema("Arrays of items without bytes, such as nulls, are not read.")
    return fastavro.parse_schema(_only_decimals(canonical(found.root, set())))


def _only_decimals(value: Any) -> Any:
    if isinstance(value, dict):
        kept = value.items()
        if value.get("logicalType") != "decimal":
            kept = {name: each for name, each in value.items() if name != "logicalType"}.items()
        return {name: _only_decimals(each) for name, each in kept}
    return [_only_decimals(each) for each in value] if isinstance(value, list) else value
