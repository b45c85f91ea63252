"""The filter language: what is wanted, what is refused, and that no text breaks it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.errors import InvalidValue
from penstock.client.paging import Message
from penstock.console.decoding_records import RecordDecoder
from penstock.console.filtering import EXAMPLES, Candidate, compile_filter
from penstock.console.filters import compile_any

VALUE = b'{"total": 120.5, "status": "Paid", "items": [{"sku": "A-7"}], "note": null, "ok": true}'
RECORD = Message("orders", 3, 500, 1_700_000_000_000, "CreateTime", b"order-17", VALUE, (("source", b"web"),))


def wanted(text: str, message: Message = RECORD) -> bool:
    return compile_filter(text)(Candidate(message, RecordDecoder(None).parsed))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "paid",
        '"A-7"',
        "ORDER-17",
        "web",
        "value.total > 100",
        "value.total = 120.50",
        'value.items[0].sku = "A-7"',
        "value.status != paid",
        "value contains PAID",
        'value.status matches "^P"',
        "value.ok = true",
        "value.note = null",
        "value.total exists",
        "not value.nothing exists",
        "value.nothing != 1",
        "key = order-17",
        "key matches order-[0-9]+",
        "header.source = web",
        "partition = 3 and offset >= 500",
        'timestamp > "2023-11-14 00:00:00"',
        "(value.total < 5 or key = order-17) and not header.source = app",
        "paid web",
    ],
)
def test_what_is_wanted(text: str) -> None:
    assert wanted(text)


@pytest.mark.parametrize(
    "text",
    [
        "refund",
        "value.total > 200",
        "value.status = paid",
        "value.nothing > 0",
        "value.note exists",
        "header.other = web",
        "partition = 2",
        "not paid",
        "paid and refund",
        "value.items[3].sku = x",
        'timestamp > "2024-01-01"',
    ],
)
def test_what_is_not(text: str) -> None:
    assert not wanted(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("(paid", "parenthesis is open"),
        ("value.total >", "ends where a value"),
        ('key matches "("', "no regular expression"),
        ("paid )", "goes on where it should end"),
        ('"open', "cannot be read"),
        ("= 3", "where a field or a text"),
        ("timestamp > soon", "not a timestamp"),
        ("(" * 40 + "a" + ")" * 40, "parentheses inside each other"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        compile_filter(text)


def test_a_record_without_key_and_value_is_asked_too() -> None:
    empty = Message("t", 0, 0, None, "", None, None, ())
    assert not wanted("value.total > 1 or key = a or x", empty)
    assert wanted("offset = 0", empty)


def test_the_examples_can_be_read() -> None:
    for example, _ in EXAMPLES:
        compile_any(example)


@given(st.text(max_size=60), st.binary(max_size=40))
def test_any_text_is_a_filter_or_refused_and_any_bytes_are_a_record(text: str, value: bytes) -> None:
    try:
        test = compile_filter(text)
    except InvalidValue:
        return
    message = Message("t", 0, 0, 1, "CreateTime", value, value, (("h", value),))
    assert test(Candidate(message, RecordDecoder(None).parsed)) in (True, False)
