"""The quick ways of JsonConverter give what the long ways give."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.converters.json_schema_form import schema_to_json
from penstock.connect.converters.json_text import json_text
from penstock.connect.data import schema as s
from penstock.connect.data.schema import Schema
from penstock.connect.data.struct import SharedStruct, Struct
from penstock.connect.errors import DataError

TEXTS = st.text(max_size=8) | st.sampled_from(["\\u00ab", "\x1f", '"', "\\", ',"payload":', "é😀"])
KINDS = {
    s.INT8: st.integers(-128, 127),
    s.INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    s.STRING: TEXTS,
    s.BOOLEAN: st.booleans(),
    s.FLOAT64: st.floats(allow_nan=False, allow_infinity=False),
    s.BYTES: st.binary(max_size=4),
}


@st.composite
def typed(draw: Any, depth: int = 2) -> tuple[Schema, Any]:
    """A schema and a value of it."""
    shape = draw(st.sampled_from(["plain", "plain", "struct", "array"] if depth else ["plain"]))
    if shape == "struct":
        fields = {name: draw(typed(depth - 1)) for name in draw(st.lists(TEXTS, max_size=3, unique=True))}
        schema = s.struct_schema({name: each[0] for name, each in fields.items()}, doc=draw(TEXTS))
        value: Any = Struct(schema, {name: each[1] for name, each in fields.items()})
    elif shape == "array":
        inner, item = draw(typed(depth - 1))
        schema, value = s.array_schema(inner), [item] * draw(st.integers(0, 2))
    else:
        schema = draw(st.sampled_from(list(KINDS)))
        value = draw(KINDS[schema])
    if draw(st.booleans()):
        schema = schema.as_optional()
        if isinstance(value, Struct):
            value = Struct(schema, value.values)
        return schema, draw(st.sampled_from([value, None]))
    return schema, value


@given(typed(), st.booleans())
@settings(max_examples=50, deadline=None)
def test_a_value_is_written_as_the_long_way_writes_it_and_read_back(
    pair: tuple[Schema, Any], defaults: bool
) -> None:
    schema, value = pair
    converter = JsonConverter({"replace.null.with.default": str(defaults)})
    for _ in range(2):  # the second time with what was kept from the first
        data = converter.from_connect(schema, value)
        node = {
            "schema": schema_to_json(schema, converter.value_to_json),
            "payload": converter.value_to_json(schema, value),
        }
        assert data == json_text(node).encode()
        assert json.loads(data)["payload"] == json.loads(json.dumps(node["payload"]))
        found = converter.to_connect(data)
        assert (found.schema, found.value) == (schema, value)


def test_text_that_looks_like_an_escape_stays_as_it_is() -> None:
    assert json_text("\\u00ab") == '"\\\\u00ab"'
    assert json_text("\x1f\\u00ab") == '"\\u001F\\\\u00ab"'


def test_a_record_that_only_begins_like_a_known_one_is_read_as_a_whole() -> None:
    converter = JsonConverter({})
    known = converter.from_connect(s.INT32, 1)
    assert known is not None
    assert converter.to_connect(known).value == 1
    with pytest.raises(DataError, match="additional fields"):
        converter.to_connect(known[:-1] + b',"more":2}')
    with pytest.raises(DataError, match="serialization"):
        converter.to_connect(known + b"}")
    assert converter.to_connect(known.replace(b":1}", b":2}")).value == 2


def test_a_struct_that_records_share_is_written_once_and_cannot_be_changed() -> None:
    inner = s.struct_schema({"a": s.INT32})
    outer = s.struct_schema({"x": inner, "y": s.INT32})
    converter = JsonConverter({"schemas.enable": "false"})
    shared = SharedStruct(inner, {"a": 1})
    texts = [converter.from_connect(outer, Struct(outer, {"x": shared, "y": n})) for n in range(2)]
    assert texts == [b'{"x":{"a":1},"y":0}', b'{"x":{"a":1},"y":1}']
    with pytest.raises(DataError):
        shared.put("a", 2)
    own = Struct(inner, {"a": 1})
    assert converter.from_connect(outer, Struct(outer, {"x": own, "y": 0})) == texts[0]
    own.put("a", 5)
    assert converter.from_connect(outer, Struct(outer, {"x": own, "y": 0})) == b'{"x":{"a":5},"y":0}'
