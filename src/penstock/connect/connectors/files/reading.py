"""Records of a file from a place on, each with the place after it."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from penstock.connect.connectors.files.xml_records import xml_records
from penstock.connect.data import schema as s
from penstock.connect.data.schema import Schema
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError

ENDINGS: Final = {
    "csv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "txt": "lines", "log": "lines",
    "xml": "xml", "parquet": "parquet", "avro": "avro",
}  # fmt: skip
KINDS: Final = ("csv", "json", "lines", "xml", "parquet", "avro")
LINE_BYTES_MAX: Final = 64 << 20
ROWS_AT_ONCE: Final = 1_000


class At(NamedTuple):
    """How many records were read, and for files of lines the byte after them."""

    number: int = 0
    position: int = 0


class Item(NamedTuple):
    schema: Schema | None
    value: Any
    after: At


def items(kind: str, file: Any, at: At, settings: Mapping[str, Any]) -> Iterator[Item]:
    """`file` can seek. DataError for a file that is not of this kind."""
    match kind:
        case "csv":
            return _csv(io.BufferedReader(file), at, settings)
        case "json" | "lines":
            return _lines(kind, io.BufferedReader(file), at)
        case "xml":
            found = (
                (None, each)
                for each in islice(xml_records(file, settings["xml.record.element"]), at.number, None)
            )
            return _numbered(found, at.number)
        case "parquet":
            return _numbered(_parquet(file, at.number), at.number)
        case _:
            return _numbered(_avro(file, at.number), at.number)


def _numbered(found: Iterator[tuple[Schema | None, Any]], first: int) -> Iterator[Item]:
    for number, (schema, value) in enumerate(found, first + 1):
        yield Item(schema, value, At(number))


def _lines(kind: str, file: Any, at: At) -> Iterator[Item]:
    number, position = at
    file.seek(position)
    while line := _line(file):
        position += len(line)
        number += 1
        text = line.rstrip(b"\r\n")
        if kind == "lines":
            yield Item(s.STRING, text.decode(errors="replace"), At(number, position))
        elif text.strip():
            yield Item(None, _json(text, number), At(number, position))


def _line(file: Any) -> bytes:
    line: bytes = file.readline(LINE_BYTES_MAX)
    if len(line) == LINE_BYTES_MAX and not line.endswith(b"\n"):
        raise DataError(f"a line is longer than {LINE_BYTES_MAX} bytes")
    return line


def _json(text: bytes, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"line {number} is no JSON: {error}") from error


class _Decoded:
    """Lines as text, and how many bytes were taken."""

    def __init__(self, file: Any, charset: str) -> None:
        self._file, self._charset = file, charset
        self.position = 0

    def seek(self, position: int) -> None:
        self._file.seek(position)
        self.position = position

    def __iter__(self) -> Iterator[str]:
        while line := _line(self._file):
            self.position += len(line)
            yield line.decode(self._charset)


def _csv(file: Any, at: At, settings: Mapping[str, Any]) -> Iterator[Item]:
    decoded = _Decoded(file, codecs.lookup(settings["csv.file.charset"]).name)
    rows = _rows(decoded, settings)
    for _ in range(settings["csv.skip.lines"]):
        next(rows, None)
    begin = decoded.position
    first = next(rows, None)
    if first is None:
        return
    has_header = settings["csv.first.row.as.header"]
    names = first if has_header else [f"column{number:02d}" for number in range(1, len(first) + 1)]
    schema = s.struct_schema(s.unique((name, s.STRING.as_optional()) for name in names))
    if at.position or not has_header:
        decoded.seek(at.position or begin)
        rows = _rows(decoded, settings)
    empty = None if settings["csv.null.field.indicator"] == "BOTH" else ""
    for number, row in enumerate(rows, at.number + 1):
        yield Item(schema, _row(schema, names, row, number, empty), At(number, decoded.position))


def _rows(decoded: _Decoded, settings: Mapping[str, Any]) -> Iterator[list[str]]:
    escape = settings["csv.escape.char"]
    reader = csv.reader(
        iter(decoded),
        delimiter=settings["csv.separator.char"],
        quotechar=settings["csv.quote.char"],
        escapechar=escape or None,
    )
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"row {reader.line_num} is no CSV: {error}") from error
        if row:
            yield row


def _row(schema: Schema, names: Sequence[str], row: list[str], number: int, empty: str | None) -> Struct:
    if len(row) != len(names):
        raise DataError(f"record {number} has {len(row)} fields, and not {len(names)}")
    return Struct(schema, {name: text or empty for name, text in zip(names, row, strict=True)})


def _parquet(file: Any, first: int) -> Iterator[tuple[Schema, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from penstock.connect.connectors.files.arrow_schemas import connect_schema, connect_value

    try:
        opened = pq.ParquetFile(file)
    except pa.ArrowInvalid as error:
        raise DataError(f"no Parquet: {error}") from error
    fields = {each.name: connect_schema(each.type, each.name) for each in opened.schema_arrow}
    schema = s.struct_schema(fields)
    number = 0
    for group in range(opened.num_row_groups):
        count = opened.metadata.row_group(group).num_rows
        if number + count > first:
            for batch in opened.iter_batches(ROWS_AT_ONCE, row_groups=[group]):
                for row in batch.to_pylist()[max(0, first - number) :]:
                    yield schema, connect_value(schema, row)
                number += batch.num_rows
        else:
            number += count


def _avro(file: Any, first: int) -> Iterator[tuple[Schema | None, Any]]:
    from penstock.connect.connectors.files.avro_files import avro_records

    try:
        yield from avro_records(file, first)
    except (ValueError, EOFError, KeyError, TypeError, IndexError) as error:
        raise DataError(f"no Avro: {error}") from error
