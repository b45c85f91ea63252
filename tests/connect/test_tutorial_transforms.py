"""The six configurations of transforms that tutorials print: docs/connect.md has them with a record before
and after, and this is what they do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data.record import ConnectRecord
from penstock.connect.transforms.chain import TransformChain

PAGE = (Path(__file__).parents[2] / "docs" / "connect.md").read_text()
BEFORE = {"id": 7, "name": "Ada", "card": "4000-1234", "city": "London"}
KAFKA = "org.apache.kafka.connect.transforms."
_ROW = re.compile(r"^\| ([a-z ]+) \| (`type=.*`) \| (topic|key|value) `(.*)` \|$", re.MULTILINE)


class Case(NamedTuple):
    settings: dict[str, str]
    side: str
    after: Any


CASES = {
    name: Case(dict(each.split("=", 1) for each in re.findall("`(.*?)`", settings)), side, json.loads(after))
    for name, settings, side, after in _ROW.findall(PAGE)
}


def test_the_page_has_all_six_and_the_record_before() -> None:
    assert list(CASES) == [
        "drop a field", "rename", "mask", "value to key", "extract a field", "add a topic prefix",
    ]  # fmt: skip
    assert f"`{json.dumps(BEFORE, separators=(',', ':'))}`" in PAGE


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("prefix", ["", KAFKA], ids=["short names", "class names"])
@pytest.mark.parametrize("schemas", [True, False], ids=["with a schema", "without"])
def test_before_and_after(name: str, prefix: str, schemas: bool) -> None:
    settings, side, after = CASES[name]
    converter = JsonConverter({"schemas.enable": schemas})
    record = ConnectRecord("users", 0, value=BEFORE)
    if schemas:
        fields = [{"field": "id", "type": "int32"}] + [
            {"field": name, "type": "string"} for name in ("name", "card", "city")
        ]
        read = converter.to_connect(
            json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": BEFORE}).encode()
        )
        record = ConnectRecord("users", 0, value=read.value, value_schema=read.schema)
    given = {**settings, "type": prefix + settings["type"]}
    chain = TransformChain.of({"transforms": "t", **{f"transforms.t.{k}": v for k, v in given.items()}})
    done = chain.apply(record)
    assert done is not None

    def plain(schema: Any, found: Any) -> Any:
        data = converter.from_connect(schema, found)
        told = None if data is None else json.loads(data)
        return told["payload"] if schemas and told is not None else told

    found = {"topic": done.topic, "key": plain(done.key_schema, done.key),
             "value": plain(done.value_schema, done.value)}  # fmt: skip
    assert found == {"topic": "users", "key": None, "value": BEFORE, side: after}
