"""A few bytes cannot make a reader build a list of any length."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.schemas.codecs import codec_for
from penstock.schemas.errors import InvalidValue
from penstock.schemas.formats import parse

EMPTY = {"type": "record", "name": "Empty", "fields": []}
BILLION = bytes.fromhex("80a8d6b90700")


@pytest.mark.parametrize("items", ["null", EMPTY, {"type": "fixed", "name": "F", "size": 0}])
def test_an_array_of_items_without_bytes_is_not_read(items: Any) -> None:
    try:
        codec = codec_for(parse("AVRO", json.dumps({"type": "array", "items": items})))
    except ValueError:  # some are no schemas to begin with
        return
    with pytest.raises(InvalidValue):
        codec.decode(BILLION)


@pytest.mark.parametrize(
    "items", ["int", ["null", "int"], {"type": "array", "items": "string"}, {"type": "map", "values": "null"}]
)
def test_an_array_that_claims_more_than_there_is_ends_at_its_bytes(items: Any) -> None:
    codec = codec_for(parse("AVRO", json.dumps({"type": "array", "items": items})))
    assert codec.decode(codec.encode([])) == []
    with pytest.raises(InvalidValue):
        codec.decode(BILLION)


def test_a_record_within_itself_is_read() -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "children", "type": {"type": "array", "items": "Node"}}],
    }
    codec = codec_for(parse("AVRO", json.dumps(node)))
    tree = {"children": [{"children": []}]}
    assert codec.decode(codec.encode(tree)) == tree
