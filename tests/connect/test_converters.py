"""Converters: bytes of topics to values and back."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connect.converters import avro_data, json_schema_data
from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.converters.table import converter, header_converter
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Float32, Struct
from penstock.connect.errors import ConfigError, DataError

PACKAGE = "org.apache.kafka.connect.converters."


def made(name: str, **settings: str) -> Any:
    return converter("value.converter", name, settings, is_key=False)


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        (f"{PACKAGE}ShortConverter", -2, b"\xff\xfe"),
        (f"{PACKAGE}IntegerConverter", 7, b"\0\0\0\x07"),
        (f"{PACKAGE}LongConverter", 1 << 40, b"\0\0\x01\0\0\0\0\0"),
        (f"{PACKAGE}FloatConverter", Float32(1.5), b"\x3f\xc0\0\0"),
        (f"{PACKAGE}DoubleConverter", 1.5, b"\x3f\xf8" + bytes(6)),
        (f"{PACKAGE}BooleanConverter", True, b"\x01"),
        (f"{PACKAGE}ByteArrayConverter", b"raw", b"raw"),
        ("org.apache.kafka.connect.storage.StringConverter", "grün", "grün".encode()),
    ],
)
def test_a_primitive_is_written_as_kafkas_serializer_does(name: str, value: Any, data: bytes) -> None:
    found = made(name)
    assert found.from_connect("t", None, value) == data
    assert found.to_connect("t", data).value == value
    assert found.to_connect("t", data).schema.optional
    assert found.from_connect("t", None, None) is None


def test_what_does_not_fit_a_converter_is_an_error_of_the_record() -> None:
    for name, value in (("Integer", "x"), ("Short", 1 << 20), ("ByteArray", "text"), ("Boolean", 1)):
        with pytest.raises(DataError):
            made(f"{name}Converter").from_connect("t", None, value)
    with pytest.raises(DataError, match="Size of data received"):
        made("LongConverter").to_connect("t", b"123")


def test_a_string_of_a_struct_is_javas() -> None:
    schema = s.struct_schema({"a": s.INT32, "b": s.array_schema(s.STRING), "c": s.STRING.as_optional()})
    value = Struct(schema, {"a": 1, "b": ["x", "y"]})
    assert made("StringConverter").from_connect("t", schema, value) == b"Struct{a=1,b=[x, y]}"


def test_a_converter_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value x\.Y for configuration value\.converter"):
        made("x.Y")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, b"7"),
        (True, b"true"),
        ("plain", b"plain"),
        ([1, 2], b"[1,2]"),
        ({"k": "v"}, b'{"k":"v"}'),
        (None, None),
    ],
)
def test_a_simple_header_is_text_that_carries_its_type(value: Any, text: bytes | None) -> None:
    headers = header_converter("header.converter", "SimpleHeaderConverter", {})
    assert headers.from_header("t", "h", None, value) == text
    assert headers.to_header("t", "h", text).value == value


INNER = s.struct_schema({"x": s.FLOAT32}, name="com.shop.Inner").as_optional()
LOGICAL = s.struct_schema(
    {
        "id": s.INT64,
        "small": s.Schema(s.Type.INT8),
        "price": s.decimal_schema(2),
        "day": s.DATE,
        "at": s.TIMESTAMP.as_optional(),
        "tags": s.array_schema(s.STRING),
        "odd": s.map_schema(s.INT32, s.STRING),
        "even": s.map_schema(s.STRING, s.FLOAT64),
        "inner": INNER,
    },
    name="com.shop.Order",
)
ORDER = Struct(
    LOGICAL,
    {
        "id": 5, "small": -3, "price": Decimal("12.50"), "day": datetime(2024, 2, 29, tzinfo=UTC),
        "at": datetime(2024, 2, 29, 12, 30, tzinfo=UTC), "tags": ["a"], "odd": {1: "one"},
        "even": {"k": 0.5}, "inner": Struct(INNER, {"x": Float32(0.1)}),
    },
)  # fmt: skip


def through_avro(schema: s.Schema, value: Any) -> tuple[s.Schema, Any]:
    shape = avro_data.avro_schema(schema)
    parsed = fastavro.parse_schema(shape)
    assert fastavro.validate(
        avro_data.to_avro(schema, value), fastavro.parse_schema(_plain(shape)), raise_errors=True
    )
    assert parsed
    again = avro_data.connect_schema(shape)
    return again, avro_data.from_avro(again, avro_data.to_avro(schema, value))


def _plain(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {k: _plain(v) for k, v in shape.items() if k != "logicalType"}
    return [_plain(each) for each in shape] if isinstance(shape, list) else shape


def test_avro_keeps_schema_and_value() -> None:
    schema, value = through_avro(LOGICAL, ORDER)
    assert schema == LOGICAL
    assert value == ORDER


def test_avro_schemas_are_those_that_confluent_documents() -> None:
    assert avro_data.avro_schema(s.Schema(s.Type.INT8)) == {"type": "int", "connect.type": "int8"}
    assert avro_data.avro_schema(s.STRING.as_optional()) == ["null", "string"]
    assert avro_data.avro_schema(s.TIMESTAMP) == {
        "type": "long", "connect.version": 1, "connect.name": s.TIMESTAMP_NAME,
        "logicalType": "timestamp-millis",
    }  # fmt: skip
    unnamed = avro_data.avro_schema(s.struct_schema({"a": s.STRING.as_optional()}))
    assert unnamed["namespace"] + "." + unnamed["name"] == "io.confluent.connect.avro.ConnectDefault"
    assert unnamed["fields"] == [{"name": "a", "type": ["null", "string"], "default": None}]


def test_json_schema_keeps_schema_and_value() -> None:
    converted = JsonConverter({"schemas.enable": "false"})
    simple = s.struct_schema(
        {n: f.schema for n in ("id", "small", "price", "day", "at", "tags") if (f := LOGICAL.field(n))}
    )
    again = json_schema_data.connect_schema(json_schema_data.json_schema(simple))
    assert again == simple
    value = Struct(simple, {n: ORDER.get(n) for n in ("id", "small", "price", "day", "at", "tags")})
    assert converted.value_from_json(again, converted.value_to_json(simple, value)) == value


@settings(max_examples=25)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.sampled_from([(s.INT64, st.integers(-(1 << 63), (1 << 63) - 1)), (s.STRING, st.text()),
                         (s.BYTES, st.binary()),
                         (s.BOOLEAN, st.booleans()), (s.STRING.as_optional(), st.none() | st.text())]),
        min_size=1, max_size=5,
    ),
    st.data(),
)  # fmt: skip
def test_any_struct_comes_back_through_avro(fields: dict[str, Any], data: st.DataObject) -> None:
    schema = s.struct_schema({name: kind for name, (kind, _) in fields.items()}, name="a.B")
    value = Struct(schema, {name: data.draw(values) for name, (_, values) in fields.items()})
    assert through_avro(schema, value) == (schema, value)
