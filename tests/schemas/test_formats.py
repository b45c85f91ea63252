"""Canonical and normal forms, and what is no schema."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from penstock.schemas.differences import TooComplex
from penstock.schemas.errors import InvalidSchema
from penstock.schemas.formats import parse

PROTO = """syntax = "proto3";
package a.b;

import "google/protobuf/timestamp.proto";

option java_package = "x";

message M {
  reserved 7, 9 to 11;
  reserved "foo";

  int32 a = 1;
  map<string, N> m = 2;
  repeated E es = 5;
  .google.protobuf.Timestamp ts = 12;
  optional M self = 13 [
    deprecated = true,
    json_name = "me"
  ];

  oneof o {
    string s = 3;
    bytes t = 4 [deprecated = true];
  }

  message N {
    optional int64 x = 1;
  }
  enum E {
    A = 0;
    B = 1;
  }
}
message Empty {}

service S {
  rpc Get (M) returns (stream M);
}
"""


@pytest.mark.parametrize(
    "text", ['"string"', '{"type": "string"}', ' {"type" : "string" , "doc": "x"}', "string"]
)
def test_a_primitive_type_is_written_as_its_name(text: str) -> None:
    assert parse("AVRO", text).canonical == '"string"'


def test_avro_keeps_docs_defaults_aliases_and_unknown_properties() -> None:
    text = """{"name": "n.R", "type": "record", "doc": "d", "x": {"b": 1, "a": [2]}, "aliases": ["n.Q"],
        "fields": [{"type": {"type": "int", "logicalType": "date"}, "default": 0, "name": "a",
        "order": "descending"}, {"name": "next", "type": ["null", "n.R"]}]}"""
    assert parse("AVRO", text).canonical == (
        '{"type":"record","name":"R","namespace":"n","doc":"d","fields":['
        '{"name":"a","type":{"type":"int","logicalType":"date"},"default":0,"order":"descending"},'
        '{"name":"next","type":["null","R"]}],"x":{"b":1,"a":[2]},"aliases":["Q"]}'
    )


def test_the_normal_form_forgets_the_order_of_what_has_none() -> None:
    one = '{"type": "record", "name": "R", "namespace": "n", "z": 1, "a": 2, "fields": []}'
    other = '{"a": 2, "z": 1, "fields": [], "name": "n.R", "type": "record"}'
    assert parse("AVRO", one).canonical != parse("AVRO", other).canonical
    assert parse("AVRO", one).normalised == parse("AVRO", other).normalised
    assert parse("JSON", '{"b": 1, "a": {"d": 1, "c": 2}}').normalised == '{"a":{"c":2,"d":1},"b":1}'


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AVRO", '["null",{"type":"map","values":"long"}]'),
        ("JSON", '{"type":"object","z":1.5}'),
        ("PROTOBUF", PROTO),
    ],
)
def test_the_canonical_form_of_a_canonical_form_is_itself(kind: str, text: str) -> None:
    parsed = parse(kind, text)
    assert parsed.canonical == text
    assert parse(kind, parsed.normalised).normalised == parsed.normalised


def test_a_descriptor_in_base64_is_the_same_schema_as_its_text() -> None:
    from penstock.schemas.protobuf.schema import ProtobufSchema

    parsed = parse("PROTOBUF", PROTO)
    assert isinstance(parsed, ProtobufSchema)
    described = parse("PROTOBUF", parsed.serialised)
    assert described.identity == parsed.identity
    assert described.normalised == parsed.normalised
    assert "map<string, .a.b.M.N> m = 2;" in described.canonical


def test_the_order_of_parts_and_the_way_names_are_written_do_not_make_another_protobuf_schema() -> None:
    one = parse("PROTOBUF", 'syntax = "proto3"; package p; message A { B b = 1; } message B { int32 x = 1; }')
    other = parse(
        "PROTOBUF", 'syntax="proto3";\npackage p;\nmessage A {.p.B b=1;}\n\nmessage B {\n\tint32 x=1;}'
    )
    assert one.canonical != other.canonical
    assert one.identity == other.identity


def test_several_messages_have_no_empty_line_between_them_as_confluents() -> None:
    text = 'syntax = "proto3";\npackage p;\n\nmessage A {\n  int32 x = 1;\n}\nmessage B {\n  A a = 1;\n}\n'
    assert parse("PROTOBUF", text.replace("\n", " ")).canonical == text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AVRO", ""),
        ("AVRO", "{"),
        ("AVRO", "5"),
        ("AVRO", '{"type": "nonesuch"}'),
        ("AVRO", '{"type": "record", "name": "R"}'),
        ("AVRO", '{"type": "record", "name": "9", "fields": []}'),
        ("AVRO", '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": "x"}]}'),
        ("AVRO", '{"type":"record","name":"R","fields":[{"name":"a","type":"R"},{"name":"a","type":"R"}]}'),
        ("AVRO", '["int", "int"]'),
        ("AVRO", '["int", ["string"]]'),
        ("AVRO", '{"type": "enum", "name": "E", "symbols": ["A", "A"]}'),
        ("AVRO", '{"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}'),
        ("AVRO", '{"type": "fixed", "name": "F", "size": -1}'),
        ("AVRO", "[" * 100_000 + "]" * 100_000),
        ("JSON", "[]"),
        ("JSON", '{"type": "nonesuch"}'),
        ("JSON", '{"$ref": "#/nowhere"}'),
        ("JSON", '{"$ref": "http://127.0.0.1:1/never-fetched.json"}'),
        ("JSON", '{"$ref": "#"}'),
        ("JSON", '{"$schema": "http://example.com/unknown"}'),
        ("JSON", '{"not": ' * 5_000 + "{}" + "}" * 5_000),
        ("PROTOBUF", ""),
        ("PROTOBUF", "message M {"),
        ("PROTOBUF", "syntax = 'proto3'; message M { int32 a = 1; int32 b = 1; }"),
        ("PROTOBUF", "syntax = 'proto3'; message M { Nonesuch a = 1; }"),
        ("PROTOBUF", "syntax = 'proto3'; import 'nowhere.proto';"),
        ("PROTOBUF", "edition = '2023'; message M {}"),
        ("PROTOBUF", "syntax = 'proto3'; " + "message M { " * 5_000 + "}" * 5_000),
        ("PROTOBUF", "AAAA"),
        ("XML", "<a/>"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused_with_a_sentence_and_at_once(kind: str, text: str) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidSchema) as refused:
        parse(kind, text)
    assert str(refused.value).endswith((".", "'", ")", '"', "}"))
    assert time.monotonic() - began < 5


def test_schemas_that_refer_to_each_other_in_every_way_are_compared_in_bounded_time() -> None:
    types = [f'{{"$ref": "#/definitions/t{at}"}}' for at in range(60)]
    each = f'{{"oneOf": [{", ".join(types)}]}}'
    definitions = ", ".join(f'"t{at}": {each}' for at in range(60))
    text = f'{{"definitions": {{{definitions}}}, "oneOf": [{", ".join(types)}]}}'
    began = time.monotonic()
    with suppress(TooComplex, RecursionError):
        parse("JSON", text).differences(parse("JSON", text.replace("oneOf", "anyOf")))
    assert time.monotonic() - began < 20


def test_a_dynamic_reference_means_the_outermost_schema_that_has_its_anchor() -> None:
    tree = (
        '{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"tree","$dynamicAnchor":"node",'
        '"type":"object","properties":{"children":{"type":"array","items":{"$dynamicRef":"#node"}}}}'
    )

    def strict(value: str) -> str:
        return (
            '{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicAnchor":"node","type":"object",'
            f'"properties":{{"v":{{"type":"{value}"}},"all":{{"$ref":"tree"}}}}}}'
        )

    old, new = (parse("JSON", strict(kind), {"tree": tree}) for kind in ("integer", "string"))
    paths = {each.path for each in new.differences(old)}
    assert "#/properties/all/properties/children/items/properties/v" in paths
