"""Tags inside schemas of every format: found, added, taken away, and nothing else of the text changed."""

from __future__ import annotations

import json

import pytest

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.formats import parse
from penstock.schemas.tags import FIELD, RECORD, Entity, find_tags, with_tags

AVRO = json.dumps({
    "type": "record", "name": "Order", "namespace": "shop", "fields": [
        {"name": "id", "type": "int"},
        {"name": "who", "type": ["null", {"type": "record", "name": "Person", "fields": [
            {"name": "ssn", "type": "string", "confluent:tags": ["PII"]}]}]},
    ]}, separators=(",", ":"))  # fmt: skip
JSON_SCHEMA = (
    '{"type":"object","properties":{"a":{"type":"string"},"b":{"properties":{"c":{"type":"integer"}}}}}'
)
PROTO = """syntax = "proto3";
package shop;

import "confluent/meta.proto";

message Order {
  int32 id = 1 [(confluent.field_meta) = { doc: "number", tags: [ "A", "B" ] }];

  message Line {
    string text = 1 [(confluent.field_meta).tags = "C"];
  }
}
"""

CASES = (
    ("AVRO", AVRO, Entity("shop.Order.id", FIELD)),
    ("AVRO", AVRO, Entity("shop.Order", RECORD)),
    ("AVRO", AVRO, Entity("shop.Person.ssn", FIELD)),
    ("JSON", JSON_SCHEMA, Entity("object.a", FIELD)),
    ("JSON", JSON_SCHEMA, Entity("object.b.object.c", FIELD)),
    ("JSON", JSON_SCHEMA, Entity("object", RECORD)),
    ("PROTOBUF", PROTO, Entity(".shop.Order.id", FIELD)),
    ("PROTOBUF", PROTO, Entity(".shop.Order.Line.text", FIELD)),
    ("PROTOBUF", PROTO, Entity(".shop.Order", RECORD)),
)


@pytest.mark.parametrize(("kind", "text", "entity"), CASES)
def test_a_tag_that_is_added_is_found_and_one_that_is_taken_away_is_gone(
    kind: str, text: str, entity: Entity
) -> None:
    before = find_tags(parse(kind, text))
    tagged = with_tags(parse(kind, text), {entity: ["NEW"]}, {})
    assert find_tags(parse(kind, tagged)) == {**before, entity: [*before.get(entity, []), "NEW"]}
    back = with_tags(parse(kind, tagged), {}, {entity: ["NEW"]})
    assert find_tags(parse(kind, back)) == before
    assert with_tags(parse(kind, tagged), {entity: ["NEW"]}, {}) == tagged, "a tag is there once"


def test_tags_are_found_where_they_stand() -> None:
    assert find_tags(parse("AVRO", AVRO)) == {Entity("shop.Person.ssn", FIELD): ["PII"]}
    assert find_tags(parse("PROTOBUF", PROTO)) == {
        Entity(".shop.Order.id", FIELD): ["A", "B"],
        Entity(".shop.Order.Line.text", FIELD): ["C"],
    }


def test_a_path_of_names_alone_is_enough_in_json_schema() -> None:
    assert with_tags(parse("JSON", JSON_SCHEMA), {Entity("b.c", FIELD): ["X"]}, {}) == JSON_SCHEMA.replace(
        '{"type":"integer"}', '{"type":"integer","confluent:tags":["X"]}'
    )


def test_what_else_an_option_says_stays() -> None:
    text = with_tags(parse("PROTOBUF", PROTO), {}, {Entity("shop.Order.id", FIELD): ["A", "B"]})
    assert '(confluent.field_meta) = { doc : "number" }' in text
    plain = 'syntax = "proto3";\n\nmessage M {\n  int32 a = 1;\n}\n'
    tagged = with_tags(parse("PROTOBUF", plain), {Entity("M.a", FIELD): ["X"]}, {})
    assert 'import "confluent/meta.proto";' in tagged
    assert parse("PROTOBUF", tagged).canonical == tagged


def test_an_entity_that_is_not_there_is_refused() -> None:
    for kind, text in (("AVRO", AVRO), ("JSON", JSON_SCHEMA), ("PROTOBUF", PROTO)):
        with pytest.raises(InvalidSchema, match="nowhere"):
            with_tags(parse(kind, text), {Entity("nowhere", FIELD): ["X"]}, {})
