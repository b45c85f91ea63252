"""Keys and values as typed columns: bytes in, Arrow arrays out, by the schema that each value names.

`resolve` runs once, where the query is planned: it settles the reader's schema, so that the columns stay the
same as long as the query lives. `ColumnDecoder` runs in the tasks. A value is decoded with its writer's
schema, fetched once per worker by the id in its frame, and evolved to the reader's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StringType

from penstock.client.schema_registry import RegistryError, Schema
from penstock.schemas import wire_format
from penstock.schemas.errors import SchemaError
from penstock.spark.format_options import FieldFormat
from penstock.spark.formats.form import Decode, SchemaProblem, UnreadableValue
from penstock.spark.formats.table import checked, format_named, registry_for

KEPT: Final = 200
"""Decoders that a worker keeps; a topic has a handful of schemas."""

_PARTS_OF_A_VALUE: Final = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError, TypeError)


@dataclass(frozen=True)
class Decoding:
    """One field with its reader's schema settled; what tasks are given."""

    field: FieldFormat
    reader: Schema | None
    """None for strings."""

    @property
    def spark_type(self) -> DataType:
        if self.reader is None:
            return StringType()
        return format_named(self.field.format).column(self.reader, self.field.message).spark


class Decoded(NamedTuple):
    column: pa.Array
    """Null where a value could not be decoded."""
    failures: list[tuple[int, str]]
    """Row and reason of each of these."""


def resolve(field: FieldFormat) -> Decoding:
    """Settle the reader's schema: the one given, the version wanted, or the subject's latest as of now."""
    if not field.has_schema:
        return Decoding(field, None)
    form = format_named(field.format)
    if field.schema is not None:
        return Decoding(field, Schema(form.schema_type, field.schema))
    assert field.registry_urls is not None, "options without a schema have a registry"
    assert field.subject is not None, "options without a schema have a subject"
    registry = registry_for(field.registry_urls)
    if field.schema_version is not None:
        found = registry.version(field.subject, field.schema_version).schema
    else:
        found = registry.latest(field.subject).schema
    return Decoding(field, checked(found, form, f"subject {field.subject!r}"))


class ColumnDecoder:
    """Decodes one field, batch after batch; made anew for each task, what it learns is kept per worker."""

    def __init__(self, decoding: Decoding) -> None:
        self._field = decoding.field
        self._reader = decoding.reader
        self._type = to_arrow_type(decoding.spark_type, timezone="UTC")
        self._raw_type = self._type
        if decoding.reader is not None:
            form = format_named(self._field.format)
            self._raw_type = form.column(decoding.reader, self._field.message).arrow

    def decode(self, column: pa.Array) -> Decoded:
        if self._reader is None:
            return _strings(column)
        values: list[Any] = [None] * len(column)
        failures: list[tuple[int, str]] = []
        for row, data in enumerate(column.to_pylist()):
            if data is None:
                continue
            try:
                values[row] = self._value(data)
            except (UnreadableValue, SchemaError, SchemaProblem, RegistryError) as error:
                failures.append((row, str(error)))
        return self._array(values, failures)

    def _value(self, data: bytes) -> Any:
        if self._field.registry_urls is None:
            return self._decoder(None, (0,))(data)
        schema_id, start = wire_format.read_header(data), wire_format.HEADER_BYTES
        path: tuple[int, ...] = (0,)
        if self._field.format == "protobuf":
            path, start = wire_format.read_indexes(data, start)
        return self._decoder(schema_id, path)(data[start:])

    def _decoder(self, schema_id: int | None, path: tuple[int, ...]) -> Decode:
        key = (self._field, self._reader, schema_id, path)
        decode = _decoders.get(key)
        if decode is None:
            decode = self._compiled(schema_id, path)
            _decoders[key] = decode
            while len(_decoders) > KEPT:
                _decoders.popitem(last=False)
        return decode

    def _compiled(self, schema_id: int | None, path: tuple[int, ...]) -> Decode:
        form, writer = format_named(self._field.format), self._reader
        assert writer is not None, "strings need no decoder"
        if schema_id is not None and self._field.registry_urls is not None:
            writer = checked(
                registry_for(self._field.registry_urls).by_id(schema_id), form, f"schema {schema_id}"
            )
        assert self._reader is not None, "strings need no decoder"
        return form.decoder(writer, self._reader, self._field.message, path)

    def _array(self, values: list[Any], failures: list[tuple[int, str]]) -> Decoded:
        """The values as an array; those that Arrow does not take are failures too."""
        try:
            array = pa.array(values, self._raw_type)
        except _PARTS_OF_A_VALUE:
            for row, value in enumerate(values):
                try:
                    pa.array([value], self._raw_type)
                except _PARTS_OF_A_VALUE as error:
                    values[row] = None
                    failures.append((row, f"it does not fit the column: {error}"))
            array = pa.array(values, self._raw_type)
        if self._raw_type != self._type:
            array = array.cast(self._type)
        return Decoded(array, sorted(failures))


_decoders: OrderedDict[Any, Callable[[bytes], Any]] = OrderedDict()


def _strings(column: pa.Array) -> Decoded:
    try:
        return Decoded(column.cast(pa.string()), [])
    except pa.ArrowInvalid:
        pass
    values: list[str | None] = []
    failures = []
    for row, data in enumerate(column.to_pylist()):
        try:
            values.append(None if data is None else data.decode())
        except UnicodeDecodeError as error:
            values.append(None)
            failures.append((row, f"not UTF-8: {error}"))
    return Decoded(pa.array(values, pa.string()), failures)
