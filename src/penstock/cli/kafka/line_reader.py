"""Lines of standard input as records: Kafka's `LineMessageReader`, with its properties and its errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from penstock.cli.kafka.options import CommandFailed

CLASS_NAMES = (
    "org.apache.kafka.tools.LineMessageReader",
    "kafka.tools.ConsoleProducer$LineMessageReader",
)


class Line(NamedTuple):
    """What a line became."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class LineReader:
    """`properties` are Kafka's: parse.key, key.separator, parse.headers and the rest."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._parse_key = _is_true(properties.get("parse.key"))
        self._parse_headers = _is_true(properties.get("parse.headers"))
        self._ignore_error = _is_true(properties.get("ignore.error"))
        self._key_separator = properties.get("key.separator", "\t")
        self._headers_delimiter = properties.get("headers.delimiter", "\t")
        self._headers_separator = properties.get("headers.separator", ",")
        self._headers_key_separator = properties.get("headers.key.separator", ":")
        self._null_marker = properties.get("null.marker")
        self._check_separators()

    def _check_separators(self) -> None:
        named = {
            "null.marker": self._null_marker,
            "key.separator": self._key_separator,
            "headers.delimiter": self._headers_delimiter,
            "headers.separator": self._headers_separator,
            "headers.key.separator": self._headers_key_separator,
        }
        for one, other in (
            ("headers.delimiter", "headers.separator"),
            ("headers.delimiter", "headers.key.separator"),
            ("headers.separator", "headers.key.separator"),
            ("null.marker", "key.separator"),
            ("null.marker", "headers.separator"),
            ("null.marker", "headers.delimiter"),
            ("null.marker", "headers.key.separator"),
        ):
            if named[one] == named[other]:
                raise CommandFailed(f"{one} and {other} may not be equal")

    def read(self, lines: Iterator[str]) -> Iterator[Line]:
        for number, line in enumerate(lines, start=1):
            yield self._read(line, number)

    def _read(self, line: str, number: int) -> Line:
        headers, start = None, 0
        if self._parse_headers:
            headers = self._until(line, 0, self._headers_delimiter, "headers delimiter", number)
            start += 0 if headers is None else len(headers) + len(self._headers_delimiter)
        key = None
        if self._parse_key:
            key = self._until(line, start, self._key_separator, "key separator", number)
            start += 0 if key is None else len(key) + len(self._key_separator)
        pairs = []
        if headers is not None and headers != self._null_marker:
            pairs = self._headers(headers, number)
        return Line(self._bytes(key), self._bytes(line[start:]), pairs)

    def _until(self, line: str, start: int, mark: str, name: str, number: int) -> str | None:
        index = line.find(mark, start)
        if index >= 0:
            return line[start:index]
        if self._ignore_error:
            return None
        raise CommandFailed(f"No {name} found on line number {number}: '{line}'")

    def _headers(self, text: str, number: int) -> list[tuple[str, bytes | None]]:
        found: list[tuple[str, bytes | None]] = []
        for pair in re.split(self._headers_separator, text):
            key, mark, value = pair.partition(self._headers_key_separator)
            if not mark and not self._ignore_error:
                raise CommandFailed(f"No header key separator found in pair '{pair}' on line number {number}")
            if mark and key == self._null_marker:
                raise CommandFailed(
                    f"Header keys should not be equal to the null marker '{key}' as they can't be null"
                )
            found.append((key, self._bytes(value) if mark else None))
        return found

    def _bytes(self, text: str | None) -> bytes | None:
        """What was read with surrogates for bytes that are no UTF-8 is written back as it came."""
        if text is None or text == self._null_marker:
            return None
        return text.encode("utf-8", "surrogateescape")


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() == "true"
