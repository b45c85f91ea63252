"""A form made of a schema, and the value made of the form."""

from __future__ import annotations

import json

import pytest

from penstock.client.errors import InvalidValue
from penstock.console.schema_form import form_of, value_of
from penstock.schemas.codecs import codec_for
from penstock.schemas.formats import parse

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"], "default": None},
            {"name": "status", "type": {"type": "enum", "name": "S", "symbols": ["A", "B"]}},
            {"name": "paid", "type": "boolean", "default": False},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
)


def test_a_form_of_an_avro_record_gives_a_value_that_the_codec_takes() -> None:
    form = form_of("AVRO", AVRO)
    assert form is not None
    assert [(each.name, each.kind, each.required) for each in form] == [
        ("id", "long", True),
        ("note", "string", False),
        ("status", "enum", True),
        ("paid", "boolean", False),
        ("tags", "json", True),
    ]
    text = value_of(form, {"id": "7", "note": "hello", "status": "B", "tags": '["x"]'})
    codec = codec_for(parse("AVRO", AVRO, {}))
    assert codec.decode(codec.encode(json.loads(text)))["note"] == {"string": "hello"}


def test_what_is_missing_or_wrong_is_named() -> None:
    form = form_of("AVRO", AVRO)
    assert form is not None
    with pytest.raises(InvalidValue, match="id is empty"):
        value_of(form, {})
    with pytest.raises(InvalidValue, match="id cannot be 'seven'"):
        value_of(form, {"id": "seven"})


def test_a_form_of_json_schema_leaves_out_what_is_empty() -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "of": {"enum": ["a", "b"]}},
        "required": ["name"],
    }
    form = form_of("JSON", json.dumps(schema))
    assert form is not None
    assert value_of(form, {"name": "Ada", "of": "b"}) == '{"name": "Ada", "of": "b"}'


@pytest.mark.parametrize(
    ("kind", "text"),
    [("AVRO", '"string"'), ("AVRO", "["), ("PROTOBUF", 'syntax = "proto3";'), ("JSON", "{}")],
)
def test_other_schemas_have_no_form(kind: str, text: str) -> None:
    assert form_of(kind, text) is None
