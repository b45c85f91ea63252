"""The fast way to read and write JSON gives what the reference gives, for whatever stands in a record."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.json_fast import fast_reader
from penstock.sql.serdes.json_format import JsonCodec

KINDS = {
    "I": t.INTEGER, "L": t.BIGINT, "D": t.DOUBLE, "S": t.STRING, "B": t.BOOLEAN, "DAY": t.DATE,
    "AT": t.TIMESTAMP,
}  # fmt: skip
COLUMNS = [ColumnSchema(name, kind) for name, kind in KINDS.items()]
CODEC = JsonCodec(COLUMNS, "value", wrapped=True)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**31) - 2, 2**31 + 1), st.floats(), st.text(),
    st.sampled_from(["1", "-7", "1.5", "true", "1e3"]), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)  # fmt: skip
NAMES = st.sampled_from([*KINDS, *(name.lower() for name in KINDS), "X", ""])
DOCUMENTS = st.one_of(
    st.dictionaries(NAMES, VALUES).map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(dict.fromkeys(KINDS, VALUES)).map(lambda value: json.dumps(value).encode()),
    st.sampled_from([
        b"null", b"[]", b"1", b"", b"{", b'{"I": 1.0}', b'{"D": 1e999}', b'{"D": -0.0}', b'{"I": 1e2}',
        b'{"I": 1, "I": 2, "L": 1, "D": 1, "S": "\\ud83d\\ude00", "B": true, "DAY": 1, "AT": 1}',
        b'{"I": 1, "L": 9223372036854775808, "D": 123456789012345678, "S": "", "B": true, "DAY": 1, "AT": 2}',
    ]),
    st.binary(max_size=20),
)  # fmt: skip


def reference(data: bytes) -> Any:
    try:
        row = CODEC.decode("t", data)
    except FormatError as error:
        return str(error)
    return None if row is None else dict(zip(KINDS, row, strict=True))


def whole(data: bytes) -> Any:
    try:
        return CODEC.decode_mapping("t", data)
    except FormatError as error:
        return str(error)


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
@example(b'{"I":1,"L":2,"D":3,"S":"x","B":false,"DAY":0,"AT":1.0}')
def test_both_ways_read_the_same(data: bytes) -> None:
    assert repr(_ordered(whole(data))) == repr(_ordered(reference(data)))


def _ordered(found: Any) -> Any:
    return {name: found[name] for name in KINDS} if isinstance(found, dict) else found


@settings(max_examples=100, deadline=None)
@given(
    st.fixed_dictionaries({"D": st.none() | st.floats(), "S": st.none() | st.text(), "I": st.integers(-9, 9)})
)
def test_both_ways_write_the_same(row: dict[str, Any]) -> None:
    try:
        expected = CODEC.encode("t", [row.get(name) for name in KINDS])
    except FormatError:
        return
    assert CODEC.encode_mapping("t", row) == expected


def test_the_usual_record_goes_the_fast_way() -> None:
    read = fast_reader([("A", t.INTEGER), ("B", t.STRING)])
    assert read is not None
    assert read(b'{"B": "x", "A": 1, "C": []}') == {"A": 1, "B": "x"}
    assert read(b'{"a": 1, "B": "x"}') is None
    assert fast_reader([("A", t.Array(t.INTEGER))]) is None
