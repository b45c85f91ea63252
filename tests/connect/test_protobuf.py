"""Protobuf by a registry: schemas and values of Connect there and back, and messages of others."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.client.schema_registry import Schema as RegistrySchema
from penstock.connect.converters.registry import ProtobufConverter
from penstock.connect.data import schema as s
from penstock.connect.data.dates import from_millis
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError


class Registry:
    """Schemas in memory."""

    def __init__(self) -> None:
        self.schemas: list[RegistrySchema] = []

    def register(self, _subject: str, schema: RegistrySchema) -> int:
        if schema not in self.schemas:
            self.schemas.append(schema)
        return self.schemas.index(schema) + 1

    def by_id(self, number: int) -> RegistrySchema:
        return self.schemas[number - 1]


def made(**more: str) -> Any:
    found = ProtobufConverter({"schema.registry.url": "http://127.0.0.1:1", **more}, is_key=False)
    found._registry = Registry()  # type: ignore[assignment]
    return found


INNER = s.struct_schema({"x": s.FLOAT64, "y": s.STRING.as_optional()}, name="Inner")
ORDER = s.struct_schema(
    {
        "id": s.INT64, "small": s.INT16, "name": s.STRING, "paid": s.BOOLEAN, "raw": s.BYTES,
        "tags": s.array_schema(s.STRING), "counts": s.map_schema(s.STRING, s.INT32),
        "inner": INNER, "many": s.array_schema(INNER), "at": s.TIMESTAMP, "on": s.DATE, "hour": s.TIME,
    },
    name="shop.Order",
)  # fmt: skip
INNERS = st.builds(
    lambda x, y: Struct(INNER, {"x": x, "y": y}), st.floats(allow_nan=False), st.text(max_size=5)
)
VALUES = st.fixed_dictionaries(
    {
        "id": st.integers(-(1 << 63), (1 << 63) - 1), "small": st.integers(-(1 << 15), (1 << 15) - 1),
        "name": st.text(), "paid": st.booleans(), "raw": st.binary(), "tags": st.lists(st.text()),
        "counts": st.dictionaries(st.text(), st.integers(-9, 9)),
        "inner": INNERS, "many": st.lists(INNERS),
        "at": st.integers(-(1 << 40), 1 << 40).map(from_millis),
        "on": st.integers(-90_000, 90_000).map(lambda days: from_millis(days * 86_400_000)),
        "hour": st.integers(0, 86_399_999).map(from_millis),
    }
)  # fmt: skip


@given(VALUES)
@settings(max_examples=50)
def test_a_struct_comes_back_as_it_was(values: dict[str, Any]) -> None:
    found = made()
    data = found.from_connect("orders", ORDER, Struct(ORDER, values))
    schema, back = found.to_connect("orders", data)
    assert schema.name == "shop.Order"
    assert _plain(back) == _plain(Struct(ORDER, values))


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def test_nulls_are_told_from_defaults_if_asked_for() -> None:
    schema = s.struct_schema({"a": s.INT32.as_optional(), "b": s.STRING.as_optional()}, name="Pair")
    for words, expected in (("false", 0), ("true", None)):
        found = made(**{"optional.for.nullables": words})
        data = found.from_connect("t", schema, Struct(schema, {"b": "x"}))
        assert found.to_connect("t", data).value.get("a") == expected


def test_values_that_are_no_structs_and_nulls() -> None:
    found = made()
    assert found.to_connect("t", found.from_connect("t", s.STRING, "plain")).value == "plain"
    assert found.from_connect("t", None, None) is None
    assert found.to_connect("t", None).value is None


def test_what_has_no_form_is_an_error_of_the_record() -> None:
    found = made()
    schema = s.struct_schema({"price": s.decimal_schema(2)})
    with pytest.raises(DataError, match="Decimal"):
        found.from_connect("t", schema, Struct(schema, {"price": Decimal("1.50")}))
    data = found.from_connect("t", s.STRING, "x")
    with pytest.raises(DataError, match="Failed to deserialize"):
        found.to_connect("t", data[:6] + b"\xff")
    nested = s.struct_schema({"rows": s.array_schema(s.array_schema(s.INT32))})
    with pytest.raises(DataError, match="arrays of arrays"):
        found.from_connect("t", nested, Struct(nested, {"rows": [[1]]}))


def test_messages_of_others_are_read() -> None:
    from google.protobuf.message_factory import GetMessageClass

    from penstock.schemas.protobuf.messages import describe, message_named
    from penstock.schemas.wire_format import write_header, write_indexes

    text = """syntax = "proto3";
    import "google/protobuf/wrappers.proto"; import "google/protobuf/timestamp.proto";
    message Other {}
    message Event {
      enum Kind { NONE = 0; CLICK = 1; }
      Kind kind = 1; map<string, int64> n = 2; google.protobuf.StringValue note = 3;
      google.protobuf.Timestamp at = 4; uint32 big = 5; oneof o { int32 a = 6; string b = 7; }
    }"""
    found = made()
    number = found._registry.register("t-value", RegistrySchema("PROTOBUF", text))
    message = GetMessageClass(message_named(describe(text, {}), "Event"))()
    message.kind, message.big, message.b = 1, 4_000_000_000, "b"
    message.n["x"] = 5
    message.at.seconds = 60
    data = write_header(number) + write_indexes((1,)) + message.SerializeToString()
    assert dict(found.to_connect("t", data).value.items()) == {
        "kind": "CLICK", "n": {"x": 5}, "note": None, "at": datetime(1970, 1, 1, 0, 1, tzinfo=UTC),
        "big": 4_000_000_000, "a": None, "b": "b",
    }  # fmt: skip
