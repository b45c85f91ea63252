"""The six configurations of transforms that tutorials print, with a record before and after."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data.record import ConnectRecord
from penstock.connect.transforms.chain import TransformChain

BEFORE = {"id": 7, "name": "Ada", "card": "4000-1234", "city": "London"}
KAFKA = "org.apache.kafka.connect.transforms."


@pytest.mark.parametrize(
    ("settings", "topic", "key", "value"),
    [
        pytest.param(
            {"type": f"{KAFKA}ReplaceField$Value", "exclude": "card"},
            "users", None, {"id": 7, "name": "Ada", "city": "London"}, id="drop a field",
        ),
        pytest.param(
            {"type": f"{KAFKA}ReplaceField$Value", "renames": "name:full_name,city:town"},
            "users", None, {"id": 7, "full_name": "Ada", "card": "4000-1234", "town": "London"}, id="rename",
        ),
        pytest.param(
            {"type": f"{KAFKA}MaskField$Value", "fields": "card", "replacement": "****"},
            "users", None, {**BEFORE, "card": "****"}, id="mask",
        ),
        pytest.param(
            {"type": f"{KAFKA}ValueToKey", "fields": "id"}, "users", {"id": 7}, BEFORE, id="value to key"
        ),
        pytest.param(
            {"type": f"{KAFKA}ExtractField$Value", "field": "name"}, "users", None, "Ada", id="extract"
        ),
        pytest.param(
            {"type": f"{KAFKA}RegexRouter", "regex": "(.*)", "replacement": "shop-$1"},
            "shop-users", None, BEFORE, id="add a topic prefix",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("schemas", [True, False], ids=["with a schema", "without"])
def test_before_and_after(settings: dict[str, str], topic: str, key: Any, value: Any, schemas: bool) -> None:
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
    chain = TransformChain.of({"transforms": "t", **{f"transforms.t.{k}": v for k, v in settings.items()}})
    done = chain.apply(record)
    assert done is not None

    def plain(schema: Any, found: Any) -> Any:
        data = converter.from_connect(schema, found)
        told = None if data is None else json.loads(data)
        return told["payload"] if schemas and told is not None else told

    assert done.topic == topic
    assert plain(done.value_schema, done.value) == value
    if key is not None:
        assert plain(done.key_schema, done.key) == key
