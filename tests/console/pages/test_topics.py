"""The topics page in a simulated browser."""

from __future__ import annotations

from penstock.console.components.topic_table import ROWS_MAX, TopicTable
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor


def names(visitor: Visitor) -> list[str]:
    return [row["name"] for row in visitor.the(TopicTable).rows]


def test_topics_are_listed_with_partitions_and_records(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: names(visitor))
        rows = [(r["name"], r["partitions"], r["records"]) for r in visitor.the(TopicTable).rows]
        assert rows == [("orders", 3, 6), ("payments", 1, 0)]
        await visitor.user.should_see("2 topics · 4 partitions")

    visit("/topics", body)


def test_internal_topics_appear_only_behind_the_switch(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: names(visitor) == ["orders", "payments"])
        visitor.marked("show-internal").value = True
        await visitor.until(lambda: "__consumer_offsets" in names(visitor))

    visit("/topics", body)


def test_the_search_narrows_the_list_and_ignores_case(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: names(visitor))
        visitor.write("search-topics", "PAY")
        await visitor.until(lambda: names(visitor) == ["payments"])
        visitor.write("search-topics", "")
        await visitor.until(lambda: names(visitor) == ["orders", "payments"])

    visit("/topics", body)


def test_a_column_s_head_sorts_and_turns_round(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: names(visitor))
        table = visitor.user.find(TopicTable)
        table.trigger("sort", "partitions")
        await visitor.until(lambda: names(visitor) == ["orders", "payments"])
        table.trigger("sort", "partitions")
        await visitor.until(lambda: names(visitor) == ["payments", "orders"])

    visit("/topics", body)


def test_records_and_rates_follow_the_broker(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: names(visitor))
        for _ in range(50):
            backend.append("payments", b"x")
        await visitor.until(lambda: visitor.the(TopicTable).rows[1]["records"] == 50)
        await visitor.until(lambda: (visitor.the(TopicTable).rows[1]["rate"] or 0) > 0)

    visit("/topics", body)


def test_a_topic_that_another_client_makes_appears(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: names(visitor))
        backend.add_topic("another")
        await visitor.until(lambda: "another" in names(visitor))

    visit("/topics", body)


def test_many_topics_are_cut_to_what_a_browser_can_bear(visit: Visit, backend: FakeBackend) -> None:
    for i in range(ROWS_MAX + 50):
        backend.add_topic(f"many-{i:04}")

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(names(visitor)) == ROWS_MAX)
        await visitor.user.should_see(f"The first {ROWS_MAX} of {ROWS_MAX + 52} topics")

    visit("/topics", body)


def test_many_open_pages_cost_the_broker_one_question_at_a_time(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        for _ in range(8):
            await visitor.open("/topics")
        assert visitor.services.overview.watchers == 2 * 9  # frame and page of each
        before = backend.asked["snapshot"]
        polls = 0

        def counted(_: object) -> None:
            nonlocal polls
            polls += 1

        leave = visitor.services.overview.watch(counted)
        await visitor.until(lambda: polls >= 5)
        leave()
        assert backend.asked["snapshot"] - before <= polls

    visit("/topics", body)


def test_an_unreachable_broker_is_named_in_a_banner_and_recovers_by_itself(
    visit: Visit, backend: FakeBackend
) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: names(visitor))
        backend.unreachable = True
        await visitor.user.should_see("The broker at 127.0.0.1:9092 cannot be reached", retries=50)
        await visitor.user.should_see("Connection refused. Check that the broker runs")
        assert visitor.text("status") == "Unreachable"
        assert names(visitor) == ["orders", "payments"], "what was known stays on the page"
        backend.unreachable = False
        await visitor.until(lambda: visitor.text("status") == "1 broker")
        await visitor.user.should_not_see("cannot be reached")

    visit("/topics", body)


def test_a_page_opened_while_the_broker_is_away_fills_when_it_comes(
    visit: Visit, backend: FakeBackend
) -> None:
    backend.unreachable = True

    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("cannot be reached", retries=50)
        assert names(visitor) == []
        backend.unreachable = False
        await visitor.until(lambda: names(visitor) == ["orders", "payments"])

    visit("/topics", body)


def test_an_unknown_address_says_so_in_the_console_s_own_words(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        response = await visitor.user.http_client.get("/no/such/page")
        assert response.status_code == 404
        assert "There is no such page in the console." in response.text

    visit("/topics", body)
