"""Splits a stream of JSON values, one after the other, into the bytes of each, as the chunks arrive.

What lies inside a value is not looked at beyond its quotes and brackets; whoever decodes it finds what is
wrong. Memory is bounded by the largest value allowed. Used by the version-3 records route. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

OUTSIDE: Final = re.compile(rb'["{}\[\]]')
INSIDE_STRING: Final = re.compile(rb'["\\]')
SPACE: Final = b" \t\r\n"


def _whole_object(levels: int) -> re.Pattern[bytes]:
    """An object with so many levels below it, behind white space. It never goes back, so it takes linear
    time. As below, brackets of both kinds are alike."""
    inside = rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"%s)*+'
    found = inside % b""
    for _ in range(levels):
        found = inside % (rb"|[{\[]" + found + rb"[}\]]")
    return re.compile(rb"[ \t\r\n]*+(\{" + found + rb"\})", re.DOTALL)


SIMPLE: Final = _whole_object(5)
"""Most records, found in one step."""


class NotJson(Exception):
    """The stream holds something that is no JSON object; the text says what."""


class ValueTooLarge(Exception):
    """One value is larger than it may be."""


class JsonValues:
    """Feed it chunks; it gives each whole object once. Only objects are taken: a record is one."""

    def __init__(self, value_bytes_max: int) -> None:
        self._max = value_bytes_max
        self._buffer = bytearray()
        self._at = 0
        """Everything before this position of the buffer has been looked at."""
        self._depth = 0
        self._in_string = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The values that end in this chunk. Raises when what follows them can be no value."""
        self._buffer += chunk
        while True:
            if not (self._at or self._depth):
                yield from self._simple()
            value = self._next()
            if value is None:
                break
            yield value
        if len(self._buffer) > self._max:
            raise ValueTooLarge

    def end(self) -> None:
        """The stream is over; raises when it stopped inside a value."""
        if self._buffer:
            raise NotJson("The body ends in the middle of a JSON object.")

    def _simple(self) -> list[bytes]:
        """The next values that are here as a whole and are not deep; what follows is left to `_next`."""
        data, end, values = bytes(self._buffer), 0, []
        while (found := SIMPLE.match(data, end)) is not None and found.end() - end <= self._max:
            values.append(found[1])
            end = found.end()
        del self._buffer[:end]
        return values

    def _next(self) -> bytes | None:
        if self._depth == 0 and not self._begin():
            return None
        while True:
            if self._in_string and not self._leave_string():
                return None
            found = OUTSIDE.search(self._buffer, self._at)
            if found is None:
                self._at = len(self._buffer)
                return None
            self._at = found.end()
            mark = found.group()
            if mark == b'"':
                self._in_string = True
            elif mark in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 0:
                    return self._take()

    def _begin(self) -> bool:
        """Skips what stands between values; False when nothing follows yet."""
        del self._buffer[: len(self._buffer) - len(self._buffer.lstrip(SPACE))]
        self._at = 0
        if not self._buffer:
            return False
        if self._buffer[0] != ord("{"):
            shown = bytes(self._buffer[:20]).decode(errors="replace")
            raise NotJson(f"A JSON object is expected where {shown!r} stands.")
        return True

    def _leave_string(self) -> bool:
        """Goes on to the end of the string; False when it lies in a later chunk."""
        while found := INSIDE_STRING.search(self._buffer, self._at):
            if found.group() == b'"':
                self._at = found.end()
                self._in_string = False
                return True
            if found.end() == len(self._buffer):  # what is escaped has not arrived
                self._at = found.start()
                return False
            self._at = found.end() + 1
        self._at = len(self._buffer)
        return False

    def _take(self) -> bytes:
        if self._at > self._max:
            raise ValueTooLarge
        value = bytes(self._buffer[: self._at])
        del self._buffer[: self._at]
        self._at = 0
        return value
