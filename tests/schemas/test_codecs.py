"""Values through each format and back; what does not fit is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.schemas.codecs import codec_for
from penstock.schemas.errors import InvalidValue
from penstock.schemas.formats import parse
from penstock.schemas.protobuf.schema import ProtobufSchema
from penstock.schemas.protobuf.values import ProtobufCodec

RECORD = """{"type": "record", "name": "a.R", "fields": [
    {"name": "x", "type": ["null", "int"], "default": null},
    {"name": "next", "type": ["null", "R"], "default": null},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
    {"name": "u", "type": ["string", "double", {"type": "enum", "name": "E", "symbols": ["A"]}]}]}"""
MESSAGE = 'syntax = "proto3"; package q; message A { message B { int32 x = 1; } B b = 1; int64 big = 2; }'
OBJECT = """{"type": "object", "properties": {
    "a": {"type": "string", "pattern": "^(a+)+$"}, "b": {"$ref": "n.json"}}}"""


def test_avro_values_are_in_avros_json_encoding() -> None:
    codec = codec_for(parse("AVRO", RECORD))
    inner = {"x": None, "next": None, "price": "\u00ff", "u": {"string": "y"}}
    value = {"x": {"int": 3}, "next": {"a.R": inner}, "price": "ab", "u": {"a.E": "A"}}
    assert codec.decode(codec.encode(value)) == value


def test_a_field_must_be_there_even_with_a_default_and_an_unknown_one_is_passed_over() -> None:
    codec = codec_for(parse("AVRO", RECORD))
    with pytest.raises(InvalidValue, match="lacks the field"):
        codec.encode({"price": "", "u": {"double": 1}})
    whole = {"x": None, "next": None, "price": "", "u": {"double": 1.0}}
    assert codec.decode(codec.encode({**whole, "more": 1})) == whole


def test_a_protobuf_value_has_names_of_json_and_its_default_values() -> None:
    fields = "int32 an_int = 1; string s = 2; optional int32 o = 3; repeated int32 r = 4;"
    text = f'syntax = "proto3"; message M {{ {fields} }}'
    codec = codec_for(parse("PROTOBUF", text))
    assert codec.decode(codec.encode({"an_int": 5})) == {"anInt": 5, "s": "", "r": []}
    assert codec.decode(codec.encode({"anInt": 0, "o": 0})) == {"anInt": 0, "s": "", "o": 0, "r": []}


@pytest.mark.parametrize(
    "value",
    [{}, {"price": "", "u": "bare"}, {"price": 5, "u": {"string": ""}}, {"price": "", "u": None}, [], "x"],
)
def test_what_does_not_fit_an_avro_schema_is_refused(value: Any) -> None:
    with pytest.raises(InvalidValue):
        codec_for(parse("AVRO", RECORD)).encode(value)


def test_protobuf_writes_the_indexes_of_its_message() -> None:
    schema = parse("PROTOBUF", MESSAGE)
    assert isinstance(schema, ProtobufSchema)
    assert codec_for(schema).encode({"b": {"x": 4}, "big": "123"}) == b"\x00\x0a\x02\x08\x04\x10{"
    inner = ProtobufCodec(schema, "q.A.B")
    assert inner.encode({"x": 5}) == b"\x04\x00\x00\x08\x05"
    assert codec_for(schema).decode(b"\x04\x00\x00\x08\x05") == {"x": 5}


@pytest.mark.parametrize("value", [{"nonesuch": 1}, {"b": 5}, {"big": "x"}, [], 7])
def test_what_does_not_fit_a_message_is_refused(value: Any) -> None:
    with pytest.raises(InvalidValue):
        codec_for(parse("PROTOBUF", MESSAGE)).encode(value)


def test_json_is_checked_with_its_references_and_no_pattern_makes_it_slow() -> None:
    codec = codec_for(parse("JSON", OBJECT, {"n.json": '{"type": "integer"}'}))
    assert codec.decode(codec.encode({"a": "aaa", "b": 4})) == {"a": "aaa", "b": 4}
    for wrong in ({"b": "x"}, {"a": "a" * 50_000 + "!"}, []):
        with pytest.raises(InvalidValue):
            codec.encode(wrong)
