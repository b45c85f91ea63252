"""Records of an XML file: each child of the root, or each element of a given name, as maps and texts.

Attributes are `@NAME`; the text of an element that also has attributes or children is `#text`; elements that
occur several times are a list. A document type is refused: entities can make a small file endless, and can
name other files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from xml.parsers import expat

from penstock.connect.errors import DataError

CHUNK_BYTES: Final = 1 << 16
DEPTH_MAX: Final = 100


class _Element:
    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.parts: dict[str, Any] = {f"@{each}": value for each, value in attributes.items()}
        self.text: list[str] = []

    def add(self, name: str, value: Any) -> None:
        known = self.parts.get(name)
        if name not in self.parts:
            self.parts[name] = value
        elif isinstance(known, list):
            known.append(value)
        else:
            self.parts[name] = [known, value]

    def value(self) -> Any:
        text = "".join(self.text).strip()
        if not self.parts:
            return text
        return {**self.parts, "#text": text} if text else self.parts


class _Records:
    """Elements that are open, and records that are whole."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._open: list[_Element] = []
        self._depth = 0
        self.whole: list[Any] = []
        parser = self.parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise DataError(f"elements are nested deeper than {DEPTH_MAX}")
        begins = name == self._wanted if self._wanted else self._depth == 2
        if self._open or begins:
            self._open.append(_Element(name, attributes))

    def _end(self, name: str) -> None:
        self._depth -= 1
        if not self._open:
            return
        done = self._open.pop()
        if self._open:
            self._open[-1].add(name, done.value())
        else:
            value = done.value()
            self.whole.append(value if isinstance(value, dict) else {name: value})

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].text.append(text)

    def _refuse(self, *_: Any) -> None:
        raise DataError("a document type (<!DOCTYPE …>) is not read")


def xml_records(file: Any, wanted: str = "") -> Iterator[Any]:
    """DataError for what is no XML."""
    records = _Records(wanted)
    while True:
        data = file.read(CHUNK_BYTES)
        try:
            records.parser.Parse(data, not data)
        except expat.ExpatError as error:
            raise DataError(f"no XML: {error}") from error
        yield from records.whole
        records.whole.clear()
        if not data:
            return
