"""Bytes as Kafka's serializers write them, and sentences for those they cannot read."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernels.record import Change, Windowed
from penstock.kernels.serdes import (
    BooleanSerde,
    BytesSerde,
    ChangeSerde,
    DoubleSerde,
    FloatSerde,
    IntSerde,
    LongSerde,
    SerdeError,
    SessionWindowedSerde,
    ShortSerde,
    StringSerde,
    TimeWindowedSerde,
    from_bytes,
    to_bytes,
)
from penstock.streams import AvroSerde, JsonSerde

S = StringSerde()


@pytest.mark.parametrize(
    ("serde", "value", "data"),
    [
        (S, "é", b"\xc3\xa9"),
        (BytesSerde(), b"x", b"x"),
        (ShortSerde(), -2, b"\xff\xfe"),
        (IntSerde(), 1, b"\0\0\0\1"),
        (LongSerde(), 258, b"\0\0\0\0\0\0\1\2"),
        (FloatSerde(), 1.5, b"\x3f\xc0\0\0"),
        (DoubleSerde(), 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
        (BooleanSerde(), True, b"\1"),
        (TimeWindowedSerde(S, 10), Windowed("k", 5, 15), b"k\0\0\0\0\0\0\0\5"),
        (SessionWindowedSerde(S), Windowed("k", 1, 2), b"k\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1"),
        (ChangeSerde(S), Change("n", None), b"n\1"),
        (ChangeSerde(S), Change(None, "o"), b"o\0"),
        (ChangeSerde(S), Change("new", "o"), b"\6newo\2"),
        (ChangeSerde(S), Change("n" * 100, "o"), b"\xc8\1" + b"n" * 100 + b"o\2"),
        (JsonSerde(), {"b": 1, "a": None}, b'{"a":null,"b":1}'),
        (
            AvroSerde('{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'),
            {"n": 1},
            b"\2",
        ),
    ],
)
def test_a_value_has_its_bytes(serde: Any, value: Any, data: bytes) -> None:
    assert to_bytes(serde, "topic", value) == data
    assert from_bytes(serde, "topic", data) == value


def test_null_is_null_in_every_format() -> None:
    assert to_bytes(S, "topic", None) is None
    assert from_bytes(LongSerde(), "topic", None) is None


@pytest.mark.parametrize(("serde", "data"), [(LongSerde(), b"123"), (S, b"\xff"), (JsonSerde(), b"{")])
def test_bytes_of_another_format_are_named(serde: Any, data: bytes) -> None:
    with pytest.raises(SerdeError, match="of topic"):
        from_bytes(serde, "topic", data)


def test_a_number_that_is_too_large_is_named() -> None:
    with pytest.raises(SerdeError, match="4294967296"):
        to_bytes(IntSerde(), "topic", 2**32)
