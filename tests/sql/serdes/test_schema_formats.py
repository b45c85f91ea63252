"""AVRO, JSON_SR and PROTOBUF: framed rows, registered schemas, and columns inferred from schemas."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.client.schema_registry import Schema
from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema, Format
from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.inference import infer_columns, schema_of
from penstock.sql.serdes.schemas import MemorySchemas
from penstock.sql.serdes.table import codec_of

PLACE = t.struct_of([("CITY", t.STRING), ("ZIP", t.INTEGER)])
COLUMNS = tuple(
    ColumnSchema(name, kind)
    for name, kind in (
        ("B", t.BOOLEAN), ("I", t.INTEGER), ("L", t.BIGINT), ("D", t.DOUBLE), ("S", t.STRING), ("Y", t.BYTES),
        ("N", t.Decimal(6, 2)), ("DAY", t.DATE), ("T", t.TIME), ("AT", t.TIMESTAMP),
        ("XS", t.Array(t.STRING)), ("M", t.Map(t.STRING, t.INTEGER)), ("P", PLACE),
    )
)  # fmt: skip
ROW = [
    True, -5, 1 << 40, 1.5, "é", b"\x00\xff", Decimal("-12.34"), 19000, 3_661_001, 1_600_000_000_123,
    ["a", "b"], {"k": 1}, {"CITY": "Bern", "ZIP": 3000},
]  # fmt: skip


@pytest.mark.parametrize("name", ["AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR"])
def test_a_row_of_every_type_is_read_as_it_was_written(name: str) -> None:
    schemas = MemorySchemas()
    codec = codec_of(Format(name), COLUMNS, is_key=False, schemas=schemas)
    data = codec.encode("t", ROW)
    assert data is not None
    assert codec.decode("t", data) == ROW
    assert schemas.subjects == ([] if name == "PROTOBUF_NOSR" else ["t-value"])
    if schemas.subjects:
        assert data[:5] == b"\x00\x00\x00\x00\x01"
        assert infer_columns(Format(name), "t", schemas, is_key=False) == COLUMNS


@pytest.mark.parametrize("name", ["AVRO", "JSON_SR"])
def test_a_row_of_nulls_stays_one(name: str) -> None:
    codec = codec_of(Format(name), COLUMNS, is_key=False, schemas=MemorySchemas())
    assert codec.decode("t", codec.encode("t", [None] * len(COLUMNS)) or b"") == [None] * len(COLUMNS)


@pytest.mark.parametrize(
    ("nullable", "read"), [("", [0, ""]), ("OPTIONAL", [None] * 2), ("WRAPPER", [None] * 2)]
)
def test_protobuf_nulls_are_defaults_unless_they_can_be_told_apart(nullable: str, read: list[Any]) -> None:
    given = (("protobuf_nullable_representation", nullable),) if nullable else ()
    codec = codec_of(
        Format("PROTOBUF", given), (COLUMNS[1], COLUMNS[4]), is_key=False, schemas=MemorySchemas()
    )
    assert codec.decode("t", codec.encode("t", [None, None]) or b"") == read
    assert codec.decode("t", codec.encode("t", [1, "x"]) or b"") == [1, "x"]


@pytest.mark.parametrize("name", ["AVRO", "JSON_SR"])
def test_a_bare_key_has_a_schema_of_its_own(name: str) -> None:
    schemas = MemorySchemas()
    codec = codec_of(
        Format(name, wrapped=False), (ColumnSchema("K", t.BIGINT),), is_key=True, schemas=schemas
    )
    assert codec.decode("t", codec.encode("t", [7]) or b"") == [7]
    assert codec.encode("t", [None]) is None
    assert infer_columns(Format(name, wrapped=False), "t", schemas, is_key=True) == (
        ColumnSchema("ROWKEY", t.BIGINT),
    )


def test_avro_schemas_are_those_of_ksqldb() -> None:
    columns = (ColumnSchema("A", t.Decimal(4, 2)), ColumnSchema("M", t.Map(t.STRING, t.INTEGER)), COLUMNS[12])
    made = json.loads(schema_of(Format("AVRO"), columns).text)
    assert (made["namespace"], made["name"]) == ("io.confluent.ksql.avro_schemas", "KsqlDataSourceSchema")
    assert made["connect.name"] == "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
    decimal, entries, place = (field["type"][1] for field in made["fields"])
    assert decimal["logicalType"] == "decimal"
    assert decimal["connect.name"] == "org.apache.kafka.connect.data.Decimal"
    assert entries["items"]["name"] == "KsqlDataSourceSchema_M"
    assert entries["items"]["connect.internal.type"] == "MapEntry"
    assert place["name"] == "KsqlDataSourceSchema_P"
    named = schema_of(Format("AVRO", (("schema_full_name", "com.shop.Order"),)), columns)
    assert (json.loads(named.text)["namespace"], json.loads(named.text)["name"]) == ("com.shop", "Order")
    with pytest.raises(FormatError, match="Avro only supports MAPs with STRING keys"):
        schema_of(Format("AVRO"), (ColumnSchema("M", t.Map(t.INTEGER, t.INTEGER)),))


def test_json_and_protobuf_schemas_are_those_of_connect() -> None:
    columns = (ColumnSchema("A", t.INTEGER), ColumnSchema("B", t.Map(t.STRING, t.DOUBLE)))
    assert json.loads(schema_of(Format("JSON_SR"), columns).text)["properties"]["A"] == {
        "connect.index": 0,
        "oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}],
    }
    assert schema_of(Format("PROTOBUF"), columns).text == (
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  int32 A = 1;\n'
        "  repeated ConnectDefault2Entry B = 2;\n\n  message ConnectDefault2Entry {\n"
        "    string key = 1;\n    double value = 2;\n  }\n}\n"
    )


def test_columns_are_inferred_from_schemas_of_others() -> None:
    schemas = MemorySchemas()
    user = {
        "type": "record",
        "name": "User",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "level", "type": {"type": "enum", "name": "Level", "symbols": ["LOW", "HIGH"]}},
            {"name": "tags", "type": {"type": "map", "values": "long"}},
            {"name": "odd", "type": ["int", "string"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
    number = schemas.register("users-value", Schema("AVRO", json.dumps(user)))
    found = infer_columns(Format("AVRO"), "users", schemas, is_key=False)
    assert [str(column) for column in found] == [
        "`ID` INTEGER", "`LEVEL` STRING", "`TAGS` MAP<STRING, BIGINT>", "`AT` TIMESTAMP",
    ]  # fmt: skip
    by_id = Format("AVRO", (("schema_id", str(number)),))
    assert infer_columns(by_id, "other", schemas, is_key=False)[0].name == "id"
    with pytest.raises(
        FormatError, match=r"on topic 'x' does not exist in the Schema Registry.\nSubject: x-value"
    ):
        infer_columns(Format("AVRO"), "x", schemas, is_key=False)
    proto = (
        'syntax = "proto3"; package a; message One { int32 x = 1; } message Two { repeated string y = 1; }'
    )
    schemas.register("p-value", Schema("PROTOBUF", proto))
    two = infer_columns(Format("PROTOBUF", (("schema_full_name", "Two"),)), "p", schemas, is_key=False)
    assert [str(column) for column in two] == ["`Y` ARRAY<STRING>"]


def test_a_schema_by_id_is_written_with_its_own_names() -> None:
    schemas = MemorySchemas()
    fields = [{"name": "id", "type": "int"}, {"name": "x", "type": "int", "default": 9}]
    text = json.dumps({"type": "record", "name": "U", "fields": fields})
    number = schemas.register("u", Schema("AVRO", text))
    form = Format("AVRO", (("schema_id", str(number)),))
    codec = codec_of(form, (ColumnSchema("ID", t.INTEGER),), is_key=False, schemas=schemas)
    assert codec.encode("t", [4]) == b"\x00\x00\x00\x00\x01\x08\x12"


def test_bytes_without_a_frame_and_servers_without_a_registry_are_refused() -> None:
    codec = codec_of(Format("AVRO"), COLUMNS, is_key=False, schemas=MemorySchemas())
    with pytest.raises(FormatError, match="was it written without a registry"):
        codec.decode("t", b"{}")
    with pytest.raises(FormatError, match=r"set ksql.schema.registry.url"):
        codec_of(Format("AVRO"), COLUMNS, is_key=False)
