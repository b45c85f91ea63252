"""Values to JSON text, by a function made once for each schema.

The function knows the forms that nearly all records have. Whatever else it meets (logical types, floats, a
struct of another schema) goes the long way, through `JsonConverter.value_to_json`, and gives the same text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.connect.converters.json_text import json_text, quoted
from penstock.connect.data import schema as s
from penstock.connect.data.schema import INTEGER_BITS, Schema, Type
from penstock.connect.data.struct import SharedStruct, Struct

Write = Callable[[Any], str]
ToJson = Callable[[Schema, Any], Any]
KEPT: Final = 1000
"""Schemas that a converter remembers: it begins anew when there are more."""


class JsonWriters:
    """Of one converter, in one thread."""

    def __init__(self, long_way: ToJson) -> None:
        self._long_way = long_way
        self._made: dict[int, tuple[Schema, Write]] = {}

    def of(self, schema: Schema) -> Write:
        found = self._made.get(id(schema))
        if found is not None:
            return found[1]
        if len(self._made) >= KEPT:
            self._made.clear()
        write = self._write(schema)
        self._made[id(schema)] = (schema, write)  # with the schema: its id stays its own
        return write

    def _write(self, schema: Schema) -> Write:
        def slow(value: Any) -> str:
            return json_text(self._long_way(schema, value))

        if schema.optional and not schema.has_default:
            return _or_null(self._of_value(schema, slow))
        return self._of_value(schema, slow)

    def _of_value(self, schema: Schema, slow: Write) -> Write:
        if schema.name in s.LOGICAL_NAMES:
            return slow
        if schema.type is Type.STRUCT:
            return self._struct(schema, slow)
        if schema.type in INTEGER_BITS:
            return lambda value: str(value) if type(value) is int else slow(value)
        if schema.type is Type.STRING:
            return lambda value: quoted(value) if type(value) is str else slow(value)
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            item = self.of(schema.value_schema)
            return lambda value: (
                "[" + ",".join(map(item, value)) + "]" if type(value) is list else slow(value)
            )
        return slow

    def _struct(self, schema: Schema, slow: Write) -> Write:
        parts = tuple(
            (f"{',' if each.index else ''}{quoted(each.name)}:", each.name, self.of(each.schema))
            for each in schema.fields
        )
        last: tuple[Any, str] = (None, "")

        def write(value: Any) -> str:
            nonlocal last
            if value is last[0] and value is not None:
                return last[1]
            if not isinstance(value, Struct) or value.schema is not schema:
                return slow(value)
            found = value.values.get
            text = "{" + "".join([name + part(found(key)) for name, key, part in parts]) + "}"
            if type(value) is SharedStruct:
                last = (value, text)
            return text

        return write


def _or_null(write: Write) -> Write:
    return lambda value: "null" if value is None else write(value)
