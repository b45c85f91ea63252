"""A search through a whole topic in a simulated browser."""

from __future__ import annotations

from penstock.console.components.message_table import MessageTable
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor


def offsets(visitor: Visitor) -> list[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in visitor.the(MessageTable).rows]


def test_hits_appear_and_the_whole_topic_is_read(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(offsets(visitor)) == 6)
        visitor.write("filter", "value.order >= 4")
        visitor.click("search-all")
        await visitor.until(lambda: visitor.text("search-status") == "2 hits in 6 records of 6")
        assert sorted(offsets(visitor)) == [(1, 1), (2, 1)]

    visit("/topics/orders", body)


def test_a_search_is_cancelled(visit: Visit, backend: FakeBackend) -> None:
    for _ in range(2_000):
        backend.append("payments", b"x")

    async def body(visitor: Visitor) -> None:
        visitor.write("filter", "nothing like it")
        visitor.click("search-all")
        await visitor.until(lambda: "0 hits in" in visitor.text("search-status"))
        visitor.click("cancel-search")
        await visitor.until(lambda: visitor.text("search-status").startswith("Cancelled"))

    visit("/topics/payments", body)


def test_a_filter_that_cannot_be_read_says_why(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.write("filter", "value.total >")
        visitor.click("search-all")
        await visitor.user.should_see("The filter ends where a value", retries=50)

    visit("/topics/orders", body)
