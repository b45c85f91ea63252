"""Typed columns as keys and values: the sink's counterpart of `penstock.spark.decoding`.

`encoding_for` runs where the write is planned and settles schema and id; `Encoding.encode` takes an Arrow
batch in a task and gives it back with `key` and `value` as bytes. The sink calls both and knows no formats.

The schema is the one given (it is registered under the subject), else the subject's latest, else one derived
from the columns, which is registered. Without a registry values have no frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from penstock.client.schema_registry import NotRegistered, Schema, SchemaRegistry
from penstock.schemas import wire_format
from penstock.spark.format_options import NAMES, FieldFormat, FormatError, field_formats
from penstock.spark.formats.form import Format, UnreadableValue
from penstock.spark.formats.table import checked, format_named, registry_for

_FORMAT_NAMES: Final = {name.lower() for name in NAMES}


class UnwritableRow(ValueError):
    """A row that does not fit its schema; the message says which field and why."""


@dataclass(frozen=True)
class FieldEncoding:
    field: FieldFormat
    schema: Schema
    frame: bytes
    """What every value begins with; nothing without a registry."""


@dataclass(frozen=True)
class Encoding:
    """Which columns become bytes, and how. Made on the driver, used in every task."""

    fields: tuple[FieldEncoding, ...]

    def schema(self, rows: StructType) -> StructType:
        """The columns after encoding."""
        encoded = {each.field.field for each in self.fields}
        return StructType(
            [StructField(f.name, BinaryType()) if f.name in encoded else f for f in rows.fields]
        )

    def encode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for each in self.fields:
            index = batch.schema.get_field_index(each.field.field)
            if index >= 0:
                column = _encoded(each, batch.column(index))
                batch = batch.set_column(index, pa.field(each.field.field, pa.binary()), column)
        return batch


def encoded(df: DataFrame, given: Mapping[str, str], topic: str | None) -> tuple[DataFrame, dict[str, str]]:
    """The frame with keys and values as bytes, and the options that are left then."""
    formats = {name: value for name, value in given.items() if name.lower() in _FORMAT_NAMES}
    rest = {name: value for name, value in given.items() if name not in formats}
    encoding = encoding_for({name.lower(): value for name, value in formats.items()}, df.schema, topic)
    if not encoding.fields:
        return df, rest

    def encode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(encoding.encode, batches)

    return df.mapInArrow(encode, encoding.schema(df.schema)), rest


def encoding_for(given: Mapping[str, str], rows: StructType, topic: str | None) -> Encoding:
    """`given` are the options, names in lower case; `topic` is None when the rows name theirs."""
    formats = field_formats(given, None if topic is None else [topic])
    fields = []
    for field in formats:
        if field.field not in rows.fieldNames():
            raise FormatError(f"{field.field}Format is set, and the rows have no column {field.field}")
        if not field.has_schema:
            if rows[field.field].dataType not in (StringType(), BinaryType()):
                raise FormatError(f"column {field.field} is no string: cast it, or choose another format")
            continue  # strings are written as their UTF-8 bytes anyway
        fields.append(_settled(field, rows))
    return Encoding(tuple(fields))


def _settled(field: FieldFormat, rows: StructType) -> FieldEncoding:
    form = format_named(field.format)
    given = None if field.schema is None else Schema(form.schema_type, field.schema)
    if field.registry_urls is None:
        assert given is not None, "options without a registry have a schema"
        return FieldEncoding(field, given, b"")
    if field.subject is None:
        raise FormatError(f"set {field.field}Subject: the rows name their topics, so it is open")
    schema_id, schema = _registered(registry_for(field.registry_urls), field, form, given, rows)
    frame = wire_format.write_header(schema_id) + form.prefix(schema, field.message)
    return FieldEncoding(field, schema, frame)


def _registered(
    registry: SchemaRegistry, field: FieldFormat, form: Format, given: Schema | None, rows: StructType
) -> tuple[int, Schema]:
    assert field.subject is not None, "checked by the caller"
    if given is None:
        try:
            found = registry.latest(field.subject)
            return found.schema_id, checked(found.schema, form, f"subject {field.subject!r}")
        except NotRegistered:
            columns = rows[field.field].dataType
            if not isinstance(columns, StructType):
                raise FormatError(
                    f"column {field.field} is no struct, so no schema can be derived: set {field.field}Schema"
                ) from None
            given = form.derived(columns, field.field.capitalize())
    return registry.register(field.subject, given), given


def _encoded(each: FieldEncoding, column: pa.Array) -> pa.Array:
    encode, frame = format_named(each.field.format).encoder(each.schema, each.field.message), each.frame
    out: list[bytes | None] = []
    for value in _python(column):
        try:
            out.append(None if value is None else frame + encode(value))
        except UnreadableValue as error:
            raise UnwritableRow(f"the {each.field.field} of a row cannot be written: {error}") from None
    return pa.array(out, pa.binary())


def _python(column: pa.Array) -> list[Any]:
    return column.to_pylist(maps_as_pydicts="strict")
