"""The formats by name. `codec_of` makes the codec of a topic's keys or values; `row_serde` makes the serde
that plans hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.plan.row_schemas import ColumnSchema, Format
from penstock.sql.serdes.avro_format import AvroCodec
from penstock.sql.serdes.codec import Codec, FormatError
from penstock.sql.serdes.delimited_format import DelimitedCodec
from penstock.sql.serdes.inference import schema_of
from penstock.sql.serdes.json_format import JsonCodec
from penstock.sql.serdes.json_schema_format import JsonSchemaCodec
from penstock.sql.serdes.kafka_format import KafkaCodec, NoneCodec
from penstock.sql.serdes.protobuf_format import ProtobufCodec
from penstock.sql.serdes.registration import Registration
from penstock.sql.serdes.schemas import Schemas


def codec_of(
    form: Format, columns: Sequence[ColumnSchema], *, is_key: bool, schemas: Schemas | None = None
) -> Codec:
    """The codec for these columns; `FormatError` where the format cannot hold them.

    `schemas` is the Schema Registry, for the formats that have one.
    """
    part = "key" if is_key else "value"
    given = dict(form.properties)
    match form.name:
        case "NONE":
            return NoneCodec()
        case "KAFKA":
            return KafkaCodec(columns, part)
        case "DELIMITED":
            return DelimitedCodec(columns, part, given.get("delimiter", ","))
        case "JSON":
            return JsonCodec(columns, part, wrapped=form.wrapped)
        case "PROTOBUF_NOSR":
            return ProtobufCodec(columns, part, schema_of(form, columns), None)
        case "AVRO" | "JSON_SR" | "PROTOBUF":
            return _with_schema(form, columns, part, schemas)
        case _:
            raise FormatError(f"Unknown format: {form.name}")


def _with_schema(form: Format, columns: Sequence[ColumnSchema], part: str, schemas: Schemas | None) -> Codec:
    if schemas is None:
        raise FormatError(
            f"KSQL needs a Schema Registry for the format {form.name}: set ksql.schema.registry.url"
        )
    given = dict(form.properties)
    fixed = int(given["schema_id"]) if "schema_id" in given else None
    schema = schema_of(form, columns)
    registration = Registration(schemas, schema, part == "key", fixed)
    if form.name == "AVRO":
        return AvroCodec(columns, part, wrapped=form.wrapped, registration=registration)
    if form.name == "JSON_SR":
        return JsonSchemaCodec(columns, part, wrapped=form.wrapped, registration=registration)
    return ProtobufCodec(columns, part, schema, registration, given.get("schema_full_name", ""))


@dataclass(frozen=True)
class RowSerde:
    """A codec as a serde of plans: values are mappings by column; a single key column is the key itself.

    A row of a single bare null has no bytes, and is no row when it is read again.
    """

    format: Format
    columns: tuple[ColumnSchema, ...]
    is_key: bool
    schemas: Schemas | None = None
    """The Schema Registry; a plan that travels needs one that is data."""
    _codec: Codec = field(init=False, repr=False, compare=False)
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _mappings: JsonCodec | None = field(init=False, repr=False, compare=False)
    """The codec, where it reads and writes mappings itself."""

    def __post_init__(self) -> None:
        made = codec_of(self.format, self.columns, is_key=self.is_key, schemas=self.schemas)
        object.__setattr__(self, "_codec", made)
        whole = not (self.is_key and len(self.columns) == 1) and len(self.columns) > 0
        object.__setattr__(self, "_mappings", made if isinstance(made, JsonCodec) and whole else None)
        object.__setattr__(self, "_names", tuple(column.name for column in self.columns))

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.format, self.columns, self.is_key, self.schemas)
        return RowSerde, given  # codecs are functions, which do not travel

    def serialize(self, topic: str, value: Any) -> bytes:
        if self._mappings is not None:
            return self._mappings.encode_mapping(topic, value)  # type: ignore[return-value]
        if self.is_key and len(self._names) == 1:
            row = [value]
        else:
            row = [value.get(name) for name in self._names]
        return self._codec.encode(topic, row)  # type: ignore[return-value]  # None is a record without a value

    def deserialize(self, topic: str, data: bytes) -> Any:
        if self._mappings is not None:
            return self._mappings.decode_mapping(topic, data)
        row = self._codec.decode(topic, data)
        if row is None or not self._names:
            return None
        if self.is_key and len(self._names) == 1:
            return row[0]
        return dict(zip(self._names, row, strict=True))


def row_serde(
    form: Format, columns: Sequence[ColumnSchema], is_key: bool, schemas: Schemas | None = None
) -> RowSerde:
    """What `planning.py:SerdeOf` asks for."""
    return RowSerde(form, tuple(columns), is_key, schemas)
