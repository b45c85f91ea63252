"""Records as files: JSON lines, CSV, Parquet and Avro. The last two take their types from the schema of the
records."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.data.text import java_text
from penstock.connect.errors import DataError

FORMATS: Final = {
    "io.confluent.connect.s3.format.json.JsonFormat": "json",
    "io.confluent.connect.s3.format.parquet.ParquetFormat": "parquet",
    "io.confluent.connect.s3.format.avro.AvroFormat": "avro",
    "io.confluent.connect.hdfs.avro.AvroFormat": "avro",
    "io.confluent.connect.hdfs.json.JsonFormat": "json",
    "io.confluent.connect.hdfs.parquet.ParquetFormat": "parquet",
    "json": "json",
    "csv": "csv",
    "parquet": "parquet",
    "avro": "avro",
}
_PLAIN: Final = JsonConverter({"schemas.enable": "false", "decimal.format": "NUMERIC"})


class Packing(NamedTuple):
    """How a file is compressed, by its format."""

    gzip: bool = False  # JSON and CSV
    avro: str = "null"
    parquet: str = "snappy"

    def ending(self, kind: str) -> str:
        return f"{kind}.gz" if self.gzip and kind in ("json", "csv") else kind


def encoded(kind: str, records: Sequence[ConnectRecord], packing: Packing = Packing()) -> bytes:  # noqa: B008
    """One file; its records have one schema."""
    match kind:
        case "json":
            lines = [_PLAIN.from_connect(each.value_schema, each.value) or b"null" for each in records]
            data = b"\n".join(lines) + b"\n"
        case "csv":
            data = _csv(records)
        case "avro":
            from penstock.connect.connectors.files.avro_files import avro_file

            return avro_file(records, packing.avro)
        case _:
            return _parquet(records, packing.parquet)
    return gzip.compress(data, mtime=0) if packing.gzip else data


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


def _parquet(records: Sequence[ConnectRecord], codec: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from penstock.connect.connectors.files.arrow_schemas import arrow_type

    rows = [plain_row(each) for each in records]
    schema = records[0].value_schema
    typed = None
    if schema is not None:
        typed = pa.schema([(each.name, arrow_type(each.schema)) for each in schema.fields])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=typed), sink, compression=codec)
    return bytes(sink.getvalue().to_pybytes())


def plain_row(record: ConnectRecord) -> dict[str, Any]:
    """The fields of a record, in the form that Arrow takes."""
    return {name: _plain(value) for name, value in _fields(record).items()}


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
