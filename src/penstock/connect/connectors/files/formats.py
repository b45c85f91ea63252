"""Records as files: JSON lines, CSV and Parquet. Parquet takes its types from the schema of the records."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Final

from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data import schema as s
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Struct
from penstock.connect.data.text import java_text
from penstock.connect.errors import DataError

FORMATS: Final = {
    "io.confluent.connect.s3.format.json.JsonFormat": "json",
    "io.confluent.connect.s3.format.parquet.ParquetFormat": "parquet",
    "io.confluent.connect.hdfs.json.JsonFormat": "json",
    "io.confluent.connect.hdfs.parquet.ParquetFormat": "parquet",
    "json": "json",
    "csv": "csv",
    "parquet": "parquet",
}
_PLAIN: Final = JsonConverter({"schemas.enable": "false", "decimal.format": "NUMERIC"})


def encoded(kind: str, records: Sequence[ConnectRecord]) -> bytes:
    """One file; its records have one schema."""
    if kind == "json":
        lines = [_PLAIN.from_connect(each.value_schema, each.value) or b"null" for each in records]
        return b"\n".join(lines) + b"\n"
    return _csv(records) if kind == "csv" else _parquet(records)


def _fields(record: ConnectRecord) -> dict[str, Any]:
    if isinstance(record.value, Struct):
        return dict(record.value.items())
    if isinstance(record.value, dict):
        return record.value
    raise DataError(f"a record of {record.topic} at {record.offset} has no fields, which this format needs")


def _csv(records: Sequence[ConnectRecord]) -> bytes:
    rows = [_fields(each) for each in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if row.get(name) is None else java_text(row[name]) for name in names])
    return out.getvalue().encode()


def _parquet(records: Sequence[ConnectRecord]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{name: _plain(value) for name, value in _fields(each).items()} for each in records]
    schema = records[0].value_schema
    typed = (
        None if schema is None else pa.schema([(each.name, _arrow(each.schema)) for each in schema.fields])
    )
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=typed), sink)
    return bytes(sink.getvalue().to_pybytes())


def _plain(value: Any) -> Any:
    match value:
        case Struct():
            return {name: _plain(part) for name, part in value.items()}
        case list():
            return [_plain(each) for each in value]
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case _:
            return value


def _arrow(schema: Schema) -> Any:
    import pyarrow as pa

    if schema.name == s.DECIMAL_NAME:
        return pa.decimal128(38, s.decimal_scale(schema))
    if schema.name == s.TIMESTAMP_NAME:
        return pa.timestamp("ms", "UTC")
    if schema.name in (s.DATE_NAME, s.TIME_NAME):
        return pa.timestamp("ms", "UTC") if schema.name == s.TIME_NAME else pa.date32()
    match schema.type:
        case Type.STRUCT:
            return pa.struct([(each.name, _arrow(each.schema)) for each in schema.fields])
        case Type.ARRAY:
            return pa.list_(_arrow(schema.value_schema or s.STRING))
        case Type.MAP:
            return pa.map_(_arrow(schema.key_schema or s.STRING), _arrow(schema.value_schema or s.STRING))
        case _:
            return _primitive(schema.type)


def _primitive(kind: Type) -> Any:
    import pyarrow as pa

    names = {Type.FLOAT32: "float32", Type.FLOAT64: "float64", Type.BOOLEAN: "bool_", Type.BYTES: "binary"}
    return getattr(pa, names.get(kind, kind.value))()
