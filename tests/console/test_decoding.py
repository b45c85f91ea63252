"""Bytes made readable: always text, always bounded, never changed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.console.decoding import Encoding, hex_dump, preview, reindent, searchable, show

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


def test_nothing_and_empty_are_told_apart() -> None:
    assert show(None, 100).encoding is Encoding.NULL
    assert show(b"", 100).encoding is Encoding.EMPTY


def test_json_is_laid_out_over_lines() -> None:
    shown = show(b'{"a":[1,2],"b":{},"c":[]}', 1000)
    assert shown.encoding is Encoding.JSON
    assert shown.text == '{\n  "a": [\n    1,\n    2\n  ],\n  "b": {},\n  "c": []\n}'


@pytest.mark.parametrize("token", ["1.10", "1e400", "12345678901234567890123", "-0.0"])
def test_a_number_stays_as_it_was_written(token: str) -> None:
    assert token in (reindent('{"n":' + token + "}") or "")


def test_repeated_names_are_all_shown() -> None:
    assert (reindent('{"a":1,"a":2}') or "").count('"a"') == 2


def test_braces_inside_strings_are_left_alone() -> None:
    assert reindent('["a{b,c:[d]}\\"e"]') == '[\n  "a{b,c:[d]}\\"e"\n]'


@given(JSON)
def test_laying_out_never_changes_the_meaning(value: object) -> None:
    text = json.dumps([value], ensure_ascii=False)
    laid_out = reindent(text)
    assert laid_out is not None
    assert json.loads(laid_out) == json.loads(text)


@pytest.mark.parametrize("text", ["{broken", "plain", '"quoted"', "42", "[NaN]", "[" * 100_000])
def test_what_is_not_a_json_object_or_array_stays_text(text: str) -> None:
    assert reindent(text) is None
    assert show(text.encode(), 1_000_000).encoding is Encoding.TEXT


def test_bytes_that_are_no_text_become_a_hex_dump() -> None:
    shown = show(b"\x00\xffAB", 100)
    assert shown.encoding is Encoding.HEX
    assert shown.text == "00000000  00 ff 41 42                                       ..AB"


def test_control_characters_are_not_text() -> None:
    assert show(b"a\x1b[31mb", 100).encoding is Encoding.HEX
    assert show(b"tab\tand\nline", 100).encoding is Encoding.TEXT


def test_a_long_serialised_by_kafka_is_read_as_a_number_too() -> None:
    assert show((5).to_bytes(8, "big"), 100).note == "int64 5"
    assert preview((-1).to_bytes(4, "big", signed=True), 40).note == "int32 -1"


def test_what_is_too_long_is_cut_and_says_so() -> None:
    shown = show(b"x" * 1000, 100)
    assert (len(shown.text), shown.truncated, shown.size_bytes) == (100, True, 1000)


def test_a_character_cut_in_two_at_the_limit_is_dropped() -> None:
    assert show("ab€".encode(), 4).text == "ab"


def test_a_preview_is_one_line() -> None:
    assert preview(b'{\n  "a":  1\n}', 100).text == '{ "a": 1 }'
    long = preview(b"y" * 5000, 50)
    assert (len(long.text), long.truncated) == (50, True)


def test_markup_is_passed_through_as_the_text_it_is() -> None:
    hostile = b"<script>alert(1)</script>"
    assert show(hostile, 100).text == hostile.decode()
    assert preview(hostile, 100).text == hostile.decode()


def test_searching_ignores_case_and_finds_hex() -> None:
    assert "needle" in searchable(b"NEEDLE", 100)
    assert "ff 00" in searchable(b"\xff\x00", 100)
    assert searchable(None, 100) == ""


@given(st.none() | st.binary(max_size=300), st.integers(1, 64))
def test_any_bytes_can_be_shown(data: bytes | None, limit: int) -> None:
    shown = show(data, limit)
    assert shown.size_bytes == len(data or b"")
    assert preview(data, limit).text.count("\n") == 0
    searchable(data, limit)


def test_a_hex_dump_has_sixteen_bytes_a_line() -> None:
    assert [line[:8] for line in hex_dump(bytes(33)).splitlines()] == ["00000000", "00000010", "00000020"]
