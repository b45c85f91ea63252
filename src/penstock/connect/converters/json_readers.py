"""JSON to values, by a function made once for each schema; and schemas that need not be read again.

As in `json_writers`, what is not of the usual form goes the long way.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from penstock.connect.data import schema as s
from penstock.connect.data.schema import INTEGER_BITS, Schema, Type
from penstock.connect.data.struct import Struct

Read = Callable[[Any], Any]
FromJson = Callable[[Schema, Any], Any]
KEPT: Final = 16
"""Envelopes that a converter remembers: a topic has few schemas at a time."""
_BEGIN: Final = b'{"schema":'
_PAYLOAD: Final = b',"payload":'
_END: Final = b"}"


def reader(schema: Schema, long_way: FromJson) -> Read:
    def slow(node: Any) -> Any:
        return long_way(schema, node)

    if schema.name in s.LOGICAL_NAMES:
        return slow
    if schema.type is Type.STRUCT:
        return _struct(schema, long_way, slow)
    if schema.type is Type.STRING:
        return lambda node: node if type(node) is str else slow(node)
    if schema.type in INTEGER_BITS:
        end = 1 << INTEGER_BITS[schema.type] - 1
        return lambda node: node if type(node) is int and -end <= node < end else slow(node)
    return slow


def _struct(schema: Schema, long_way: FromJson, slow: Read) -> Read:
    parts = tuple((each.name, reader(each.schema, long_way)) for each in schema.fields)

    def read(node: Any) -> Any:
        if type(node) is not dict:
            return slow(node)
        found = node.get
        return Struct(schema, {name: part(found(name)) for name, part in parts})

    return read


class Envelopes:
    """Beginnings of records that differ in their payload alone, with the schema that stands there."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Schema | None, Read]] = {}

    def read(self, data: bytes) -> tuple[Schema | None, Any] | None:
        """Schema and value; None if the beginning is not known, or the rest is no payload."""
        for beginning, (schema, read) in self._known.items():
            if data.startswith(beginning) and data.endswith(_END):
                try:
                    node = json.loads(data[len(beginning) : -1])
                except ValueError:
                    return None
                return schema, read(node)
        return None

    def learn(self, data: bytes, node: Any, schema: Schema | None, read: Read) -> None:
        """`data` was read the long way: `node` is its schema in JSON."""
        at = data.find(_PAYLOAD)
        if not data.startswith(_BEGIN) or at < 0:
            return
        try:
            if json.loads(data[len(_BEGIN) : at]) != node:
                return
        except ValueError:  # the words stood in a text of the schema
            return
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[data[: at + len(_PAYLOAD)]] = (schema, read)
