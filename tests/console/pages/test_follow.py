"""Following a record, and writing one again, in a simulated browser."""

from __future__ import annotations

from penstock.console.components.message_table import MessageTable
from penstock.console.fake_backend import FakeBackend
from penstock.console.fake_operations import FakeOperations
from tests.console.conftest import Visit, Visitor
from tests.console.fake_services import FakeServices
from tests.console.pages.test_groups import grid


def test_a_record_is_followed_to_what_was_made_from_it(visit: Visit, backend: FakeBackend) -> None:
    assert isinstance(backend, FakeOperations)
    backend.commit("billing", "orders", 1, 1)
    backend.append("payments", b"made", b"other", (("penstock.origin", b"orders/1/0"),))

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Where it came from").rows)
        said = [row["sentence"] for row in grid(visitor, "Where it came from").rows]
        assert "Transactional id checkout-1" in said
        readers = grid(visitor, "What has read it").rows
        assert [(row["what"], row["state"]["text"]) for row in readers] == [("Group billing", "known")]
        await visitor.until(lambda: grid(visitor, "Made from it").rows)
        (made,) = grid(visitor, "Made from it").rows
        assert (made["href"], made["why"]) == ("/follow/payments?partition=0&offset=0", "its header names it")
        await visitor.user.should_see("Logs do not keep the client id")

    visit("/follow/orders?partition=1&offset=0", body)


def test_a_record_that_is_gone_is_said(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: "no record at offset 99" in visitor.text("follow-notice"))

    visit("/follow/orders?partition=1&offset=99", body)


def test_a_record_is_written_again_with_an_edit(visit: Visit, backend: FakeBackend) -> None:
    backend.append("payments", b'{"a": 1}', b"k", (("trace", b"abc"),))

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-partitions") == "1")
        visitor.user.find(MessageTable).trigger("again", {"partition": 0, "offset": 0})
        await visitor.until(lambda: visitor.marked("record-value").value == '{"a": 1}')
        assert visitor.marked("record-format").value == "json"
        assert visitor.marked("record-key").value == "k"
        visitor.write("record-value", '{"a": 2}')
        visitor.click("produce-confirm")
        await visitor.until(lambda: visitor.the(MessageTable).rows[0]["value"]["text"] == '{"a": 2}')

    visit("/topics/payments", body)


def test_a_record_is_written_by_the_form_of_its_schema(
    visit: Visit, backend: FakeBackend, others: FakeServices
) -> None:
    assert "orders-value" in others.subjects

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-partitions") == "3")
        visitor.click("produce-record")
        visitor.marked("record-format").value = "schema"
        await visitor.until(lambda: visitor.marked("record-field-id"))
        visitor.click("produce-confirm")
        await visitor.user.should_see("id is empty", retries=50)
        visitor.write("record-field-id", "7")
        visitor.click("produce-confirm")
        await visitor.until(
            lambda: visitor.the(MessageTable).rows[0]["value"]["text"] == 'orders-value:{"id": 7}'
        )

    visit("/topics/orders", body)


def test_a_download_is_asked_for_as_the_page_stands(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("download")
        visitor.write("download-limit", "many")
        visitor.click("download-confirm")
        await visitor.user.should_see("not a valid number of records", retries=50)
        visitor.write("download-limit", "10")
        visitor.write("download-filter", "py: value[")
        visitor.click("download-confirm")
        await visitor.user.should_see("no Python expression", retries=50)

    visit("/topics/orders", body)
