"""The quick way of JsonSerde beside Python's own encoder and decoder: the same bytes, the same values."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.streams import JsonSerde

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | st.integers() | FLOATS | st.text()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)


def by_python(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)
    return text.encode()


@given(VALUES)
def test_values_have_the_bytes_that_python_writes(value: Any) -> None:
    try:
        expected = by_python(value)
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            JsonSerde().serialize("t", value)
        return
    assert JsonSerde().serialize("t", value) == expected
    assert JsonSerde().deserialize("t", expected) == json.loads(expected)


@given(FLOATS)
def test_numbers_are_written_as_python_writes_them(number: float) -> None:
    assert JsonSerde().serialize("t", number) == by_python(number)
    assert JsonSerde().deserialize("t", by_python(number)) == number


@pytest.mark.parametrize("value", [b"x", {1, 2}, Decimal("1.5"), float("nan"), [float("inf")], object()])
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        JsonSerde().serialize("t", {"a": value})


@pytest.mark.parametrize("data", [b"1e400", '{"a": 1}'.encode("utf-16"), b'"\\ud800"', b"\xef\xbb\xbf1"])
def test_what_only_python_reads_is_still_read(data: bytes) -> None:
    assert JsonSerde().deserialize("t", data) == json.loads(data)


@pytest.mark.parametrize("data", [b"NaN", b"[Infinity]", b"{", b"", b"\xff"])
def test_what_is_not_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        JsonSerde().deserialize("t", data)
