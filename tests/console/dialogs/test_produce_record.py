"""Producing a record through the dialog."""

from __future__ import annotations

import pytest

from penstock.client.errors import InvalidValue
from penstock.console.components.message_table import MessageTable
from penstock.console.dialogs.produce_record import encode_value, parse_headers
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor


def test_a_record_is_produced_and_shown(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-partitions") == "3")
        visitor.click("produce-record")
        await visitor.user.should_see(marker="record-value")
        visitor.write("record-key", "k")
        visitor.write("record-value", "hello")
        visitor.write("record-headers", "trace: abc")
        visitor.marked("record-partition").value = "2"
        visitor.click("produce-confirm")
        await visitor.until(lambda: visitor.the(MessageTable).rows[0]["value"]["text"] == "hello")
        await visitor.user.should_see("Written to partition 2 at offset 2")
        message = backend.append("orders", b"", partition=2)
        assert message.offset == 3

    visit("/topics/orders", body)


def test_json_is_checked_before_it_is_sent(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("produce-record")
        await visitor.user.should_see(marker="record-value")
        visitor.marked("record-format").value = "json"
        visitor.write("record-value", "{broken")
        visitor.click("produce-confirm")
        await visitor.user.should_see("The value is not JSON")
        assert backend.asked["produce"] == 0

    visit("/topics/orders", body)


def test_a_value_is_encoded_as_its_format_says() -> None:
    assert encode_value("ä", "text") == "ä".encode()
    assert encode_value('{"a": 1.10}', "json") == b'{"a": 1.10}'
    assert encode_value("00 ff", "hex") == b"\x00\xff"
    assert encode_value("ignored", "null") is None
    with pytest.raises(InvalidValue, match="two digits for each byte"):
        encode_value("0", "hex")


def test_headers_may_repeat_and_hold_colons() -> None:
    assert parse_headers("a: 1\n\na: b:c\n") == (("a", b"1"), ("a", b"b:c"))
    with pytest.raises(InvalidValue, match="name: value"):
        parse_headers("no colon")
