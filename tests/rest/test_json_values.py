"""Splitting a stream of JSON objects, wherever the chunks are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.rest.json_values import JsonValues, NotJson, ValueTooLarge

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner))
objects = st.dictionaries(st.text(), values, max_size=4)


@given(st.lists(objects, max_size=5), st.integers(1, 30), st.sampled_from(["", " ", "\n", "\r\n\t"]))
def test_objects_come_out_as_they_went_in_however_they_are_cut(
    items: list[object], size: int, between: str
) -> None:
    text = between.join(json.dumps(item, ensure_ascii=False) for item in items).encode()
    splitter = JsonValues(1 << 20)
    found = [value for at in range(0, len(text), size) for value in splitter.feed(text[at : at + size])]
    splitter.end()
    assert [json.loads(value) for value in found] == items


@pytest.mark.parametrize("text", [b"[]", b"1", b"{} x", b'"a"', b"}"])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(NotJson):
        list(JsonValues(100).feed(text))


def test_a_body_that_stops_inside_an_object_is_refused() -> None:
    splitter = JsonValues(100)
    assert list(splitter.feed(b'{"a": "}')) == []
    with pytest.raises(NotJson):
        splitter.end()


def test_a_value_beyond_the_bound_is_refused_before_it_is_whole() -> None:
    with pytest.raises(ValueTooLarge):
        list(JsonValues(100).feed(b'{"a": "' + b"x" * 100))
