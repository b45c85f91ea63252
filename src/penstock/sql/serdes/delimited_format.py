"""DELIMITED: one line of values between delimiters, quoted where they must be.

The rules of quoting are those of Apache Commons CSV, which ksqlDB writes and reads with. An empty value is
null.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.casts import cast_function
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.java_text import plain_decimal
from penstock.expressions.numbers import java_double_text
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql.serdes.codec import FormatError, Row, unreadable
from penstock.sql.serdes.decimals import fitted_exactly
from penstock.sql.serdes.kafka_format import type_family

DELIMITERS: Final = {"SPACE": " ", "TAB": "\t"}
"""Delimiters that have a name."""
LONGEST_FIELD: Final = 100_000_000


class DelimitedCodec:
    def __init__(self, columns: Sequence[ColumnSchema], part: str, delimiter: str = ",") -> None:
        self._delimiter = DELIMITERS.get(delimiter.upper(), delimiter)
        self._part = part
        self._readers = [_reader(column) for column in columns]
        self._writers = [_WRITERS.get(column.type, _decimal_text) for column in columns]

    def encode(self, topic: str, row: Sequence[Any]) -> bytes | None:
        written = []
        for at, (write, value) in enumerate(zip(self._writers, row, strict=True)):
            written.append("" if value is None else self._quoted(write(value), first=at == 0))
        return self._delimiter.join(written).encode()

    def decode(self, topic: str, data: bytes) -> Row | None:
        try:
            return self._read(data.decode())
        except (FormatError, UnicodeError, EvaluationFailed, csv.Error) as error:
            raise unreadable(topic, self._part, error) from error

    def _read(self, line: str) -> Row:
        fields = self._fields(line)
        if not fields:
            raise FormatError("No fields in record")
        if len(fields) != len(self._readers):
            counts = f"csvFields:{len(fields)} schemaFields:{len(self._readers)}"
            raise FormatError(f"Unexpected field count, {counts} line: {line}")
        return [
            None if field == "" else read(field) for read, field in zip(self._readers, fields, strict=True)
        ]

    def _fields(self, line: str) -> list[str]:
        if '"' not in line and "\n" not in line and "\r" not in line:
            return line.split(self._delimiter) if line else []
        csv.field_size_limit(LONGEST_FIELD)
        lines = csv.reader(io.StringIO(line, newline=""), delimiter=self._delimiter, strict=False)
        return next((found for found in lines if found), [])

    def _quoted(self, text: str, *, first: bool) -> str:
        if not self._needs_quotes(text, first=first):
            return text
        doubled = text.replace('"', '""')
        return f'"{doubled}"'

    def _needs_quotes(self, text: str, *, first: bool) -> bool:
        if not text:
            return first
        start = text[0]
        if first and (start < " " or start in '",' or start > "~"):
            return True
        return (
            start <= "#"
            or text[-1] <= " "
            or any(each in text for each in ("\n", "\r", '"', self._delimiter))
        )


def _reader(column: ColumnSchema) -> Callable[[str], Any]:
    kind = column.type
    if isinstance(kind, t.Decimal):
        return lambda text: _decimal(text, kind)
    if kind in _READERS:
        return _READERS[kind]
    raise FormatError(
        f"The 'DELIMITED' format does not support type '{type_family(kind)}', column: `{column.name}`"
    )


def _decimal(text: str, kind: t.Decimal) -> Decimal:
    try:
        return fitted_exactly(Decimal(text.strip()), kind)
    except InvalidOperation:
        raise FormatError(f"Cannot read {text!r:.80} as {kind}") from None


def _decimal_text(value: Decimal) -> str:
    return plain_decimal(value)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise FormatError(f"Value is not a valid Base64 encoded string: {text[:80]}") from None


def _trimmed(kind: t.SqlType) -> Callable[[str], Any]:
    read = cast_function(t.STRING, kind)
    return lambda text: read(text.strip())


_READERS: Final[dict[t.SqlType, Callable[[str], Any]]] = {
    **{kind: _trimmed(kind) for kind in (t.BOOLEAN, t.INTEGER, t.BIGINT, t.DOUBLE)},
    t.STRING: str,
    t.BYTES: _bytes,
    t.DATE: _trimmed(t.INTEGER),
    t.TIME: _trimmed(t.INTEGER),
    t.TIMESTAMP: _trimmed(t.BIGINT),
}
_WRITERS: Final[dict[t.SqlType, Callable[[Any], str]]] = {
    t.BOOLEAN: lambda value: "true" if value else "false",
    t.DOUBLE: java_double_text,
    t.BYTES: lambda value: base64.b64encode(value).decode(),
    **dict.fromkeys((t.INTEGER, t.BIGINT, t.STRING, t.DATE, t.TIME, t.TIMESTAMP), str),
}
