"""KAFKA, NONE, JSON and DELIMITED: rows to bytes and back, with ksqlDB's conversions and refusals."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema, Format
from penstock.sql.serdes.codec import Codec, FormatError
from penstock.sql.serdes.table import codec_of, row_serde

PLACE = t.struct_of([("CITY", t.STRING), ("ZIP", t.INTEGER)])


def columns(*kinds: t.SqlType) -> tuple[ColumnSchema, ...]:
    return tuple(ColumnSchema(name, kind) for name, kind in zip("ABCDEFGHIJKLM", kinds, strict=False))


def codec(name: str, *kinds: t.SqlType, wrapped: bool = True, key: bool = False, **properties: str) -> Codec:
    return codec_of(Format(name, tuple(sorted(properties.items())), wrapped), columns(*kinds), is_key=key)


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (t.INTEGER, -2, b"\xff\xff\xff\xfe"),
        (t.BIGINT, 1, b"\x00" * 7 + b"\x01"),
        (t.DOUBLE, 1.0, b"\x3f\xf0" + b"\x00" * 6),
        (t.STRING, "hé", "hé".encode()),
        (t.BYTES, b"\x00\x01", b"\x00\x01"),
    ],
)
def test_kafka_format_is_that_of_kafkas_serialisers(kind: t.SqlType, value: Any, data: bytes) -> None:
    made = codec("KAFKA", kind, wrapped=False, key=True)
    assert made.encode("t", [value]) == data
    assert made.decode("t", data) == [value]
    assert made.encode("t", [None]) is None


def test_kafka_format_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(FormatError, match=r"only supports a single field. Got: \[`A` INTEGER, `B` INTEGER\]"):
        codec("KAFKA", t.INTEGER, t.INTEGER)
    with pytest.raises(FormatError, match="does not support type 'ARRAY', column: `A`"):
        codec("KAFKA", t.Array(t.INTEGER))
    with pytest.raises(FormatError, match="Size of data received by IntegerDeserializer is not 4"):
        codec("KAFKA", t.INTEGER).decode("t", b"123")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (t.INTEGER, "12", 12),
        (t.INTEGER, '"12"', 12),
        (t.INTEGER, "1.9", 1),
        (t.BIGINT, "9223372036854775807", 2**63 - 1),
        (t.DOUBLE, "1", 1.0),
        (t.DOUBLE, '"1.5e2"', 150.0),
        (t.BOOLEAN, "true", True),
        (t.STRING, '"x"', "x"),
        (t.STRING, "1.10", "1.10"),
        (t.STRING, "true", "true"),
        (t.STRING, '{"a": [1, null]}', '{"a":[1,null]}'),
        (t.Decimal(4, 2), "1.5", Decimal("1.50")),
        (t.Decimal(4, 2), '"-10"', Decimal("-10.00")),
        (t.BYTES, '"AAE="', b"\x00\x01"),
        (t.DATE, "1", 1),
        (t.TIME, "1000", 1000),
        (t.TIMESTAMP, "1600000000000", 1600000000000),
        (t.Array(t.INTEGER), '[1, null, "2"]', [1, None, 2]),
        (t.Map(t.STRING, t.BIGINT), '{"a": 1, "b": null}', {"a": 1, "b": None}),
        (PLACE, '{"city": "Bern", "more": 1}', {"CITY": "Bern", "ZIP": None}),
        (t.INTEGER, "null", None),
    ],
)
def test_json_is_converted_as_ksqldb_does(kind: t.SqlType, text: str, value: Any) -> None:
    assert codec("JSON", kind).decode("t", b'{"A":%s}' % text.encode()) == [value]
    bare = codec("JSON", kind, wrapped=False).decode("t", text.encode())
    assert bare == (None if value is None else [value])


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (t.INTEGER, '"x"', "Can't coerce string to type. targetType: INTEGER, path: \\$.A"),
        (
            t.INTEGER,
            "true",
            "Can't convert type. sourceType: BooleanNode, requiredType: INTEGER, path: \\$.A",
        ),
        (t.BOOLEAN, "1", "sourceType: IntNode, requiredType: BOOLEAN"),
        (
            t.Decimal(2, 1),
            "1.25",
            r"Cannot fit decimal '1.25' into DECIMAL\(2, 1\) without rounding. \(Requires 3,2\)",
        ),
        (t.BYTES, '"?"', "Value is not a valid Base64 encoded string"),
        (t.Array(t.INTEGER), "[[]]", r"sourceType: ArrayNode, requiredType: INTEGER, path: \$.A\[0\]"),
        (t.DOUBLE, '"1_0"', "Can't coerce string to type. targetType: DOUBLE"),
    ],
)
def test_json_that_does_not_fit_is_refused_with_its_path(kind: t.SqlType, text: str, words: str) -> None:
    with pytest.raises(FormatError, match=f"Failed to deserialize value from topic: t. .*{words}"):
        codec("JSON", kind).decode("t", b'{"A":%s}' % text.encode())


def test_json_fields_are_found_by_exact_name_and_then_in_upper_case() -> None:
    made = codec("JSON", t.INTEGER, t.INTEGER)
    assert made.decode("t", b'{"a": 1, "b": 2, "B": 3}') == [1, 3]
    assert made.decode("t", b"null") is None
    lower = codec_of(Format("JSON"), (ColumnSchema("a", t.INTEGER),), is_key=False)
    assert lower.decode("t", b'{"A": 1}') == [None]


def test_json_is_written_with_all_fields_and_javas_numbers() -> None:
    made = codec("JSON", t.DOUBLE, t.Decimal(4, 2), t.BYTES, PLACE, t.Map(t.STRING, t.DOUBLE), t.STRING)
    row = [1e10, Decimal("1.50"), b"\x01", {"CITY": "é"}, {"k": 0.5}, None]
    assert made.encode("t", row) == (
        '{"A":1.0E10,"B":1.50,"C":"AQ==","D":{"CITY":"é","ZIP":null},"E":{"k":0.5},"F":null}'.encode()
    )
    assert made.decode("t", made.encode("t", row) or b"") == [
        1e10, Decimal("1.50"), b"\x01", {"CITY": "é", "ZIP": None}, {"k": 0.5}, None,
    ]  # fmt: skip
    bare = codec("JSON", t.DOUBLE, wrapped=False)
    assert [bare.encode("t", [value]) for value in (1.0, float("nan"), None)] == [b"1.0", b'"NaN"', None]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (t.INTEGER, "12", 12),
        (t.BIGINT, " 12 ", 12),
        (t.DOUBLE, "1.5", 1.5),
        (t.BOOLEAN, "TRUE", True),
        (t.STRING, " x", " x"),
        (t.STRING, '"a,""b"', 'a,"b'),
        (t.Decimal(4, 2), "1.5", Decimal("1.50")),
        (t.BYTES, "AAE=", b"\x00\x01"),
        (t.TIMESTAMP, "100", 100),
        (t.STRING, "", None),
    ],
)
def test_delimited_values_are_read(kind: t.SqlType, text: str, value: Any) -> None:
    assert codec("DELIMITED", kind, t.INTEGER).decode("t", f"{text},7".encode()) == [value, 7]


def test_delimited_rows_are_quoted_where_they_must_be() -> None:
    made = codec("DELIMITED", t.STRING, t.STRING, t.DOUBLE, t.BOOLEAN, t.Decimal(4, 2))
    assert made.encode("t", ["a,b", 'c"d', 1e10, True, Decimal("1.50")]) == b'"a,b","c""d",1.0E10,true,1.50'
    assert made.encode("t", ["", "", None, None, None]) == b'"",,,,'
    assert made.encode("t", ["é", " x", None, None, None]) == '"é"," x",,,'.encode()
    for name, delimiter in (("TAB", b"\t"), ("SPACE", b" "), ("$", b"$")):
        other = codec("DELIMITED", t.STRING, t.INTEGER, delimiter=name)
        assert other.encode("t", ["x", 1]) == b"x" + delimiter + b"1"
        assert other.decode("t", b"x" + delimiter + b"1") == ["x", 1]


def test_delimited_rows_of_another_width_are_refused() -> None:
    made = codec("DELIMITED", t.STRING, t.INTEGER)
    with pytest.raises(FormatError, match="Unexpected field count, csvFields:1 schemaFields:2 line: x"):
        made.decode("t", b"x")
    with pytest.raises(FormatError, match="No fields in record"):
        made.decode("t", b"")
    with pytest.raises(FormatError, match="does not support type 'MAP', column: `A`"):
        codec("DELIMITED", t.Map(t.STRING, t.STRING))


def test_a_serde_of_plans_has_mappings_and_bare_keys_and_travels() -> None:
    key = pickle.loads(pickle.dumps(row_serde(Format("KAFKA", wrapped=False), columns(t.INTEGER), True)))
    assert key.serialize("t", 1) == b"\x00\x00\x00\x01"
    assert key.deserialize("t", b"\x00\x00\x00\x01") == 1
    several = row_serde(Format("JSON"), columns(t.INTEGER, t.STRING), True)
    assert several.serialize("t", {"A": 1, "B": "x"}) == b'{"A":1,"B":"x"}'
    value = row_serde(Format("JSON"), columns(t.INTEGER), False)
    assert value.deserialize("t", b'{"a":5}') == {"A": 5}
    assert row_serde(Format("NONE", wrapped=False), (), True).deserialize("t", b"x") is None
