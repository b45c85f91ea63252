"""The messages page in a simulated browser."""

from __future__ import annotations

from penstock.console.components.message_table import LIVE_ROWS_MAX, MessageTable
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor


def values(visitor: Visitor) -> list[str]:
    return [row["value"]["text"] for row in visitor.the(MessageTable).rows]


def offsets(visitor: Visitor) -> list[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in visitor.the(MessageTable).rows]


def test_the_newest_messages_come_first(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(values(visitor)) == 6)
        assert values(visitor)[0] == '{"order": 5}'
        assert visitor.text("count") == "6 messages"

    visit("/topics/orders", body)


def test_facts_of_the_topic_stand_above(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-cleanup-policy") == "compact")
        assert visitor.text("fact-retention") == "forever"
        await visitor.until(lambda: visitor.text("fact-partitions") == "1")

    visit("/topics/payments", body)


def test_a_partition_can_be_chosen(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: "2" in visitor.marked("partition").options)
        visitor.marked("partition").value = "2"
        await visitor.until(lambda: offsets(visitor) == [(2, 1), (2, 0)])

    visit("/topics/orders", body)


def test_reading_from_the_oldest_goes_forward(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.marked("start").value = "oldest"
        await visitor.until(lambda: values(visitor)[:1] == ['{"order": 0}'])

    visit("/topics/orders", body)


def test_an_offset_can_be_typed(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.marked("start").value = "offset"
        visitor.write("position", "1")
        visitor.user.find(marker="position").trigger("keydown.enter")
        await visitor.until(lambda: offsets(visitor) == [(0, 1), (1, 1), (2, 1)])

    visit("/topics/orders", body)


def test_a_timestamp_can_be_typed(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.marked("start").value = "timestamp"
        visitor.write("position", "2023-11-14 22:13:20.004")
        visitor.user.find(marker="position").trigger("keydown.enter")
        await visitor.until(lambda: values(visitor) == ['{"order": 4}', '{"order": 5}'])

    visit("/topics/orders", body)


def test_what_cannot_be_read_as_a_timestamp_is_refused_in_a_sentence(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.marked("start").value = "timestamp"
        visitor.write("position", "yesterday")
        visitor.user.find(marker="position").trigger("keydown.enter")
        await visitor.user.should_see("'yesterday' is not a timestamp. Write one such as")

    visit("/topics/orders", body)


def test_the_search_looks_through_keys_values_and_headers(visit: Visit, backend: FakeBackend) -> None:
    backend.append("orders", b"plain", headers=[("trace", b"NEEDLE-in-header")])

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(values(visitor)) == 7)
        visitor.write("search-messages", "KEY-3")
        await visitor.until(lambda: values(visitor) == ['{"order": 3}'])
        assert visitor.text("count") == "1 of 7 messages match"
        visitor.write("search-messages", "needle")
        await visitor.until(lambda: values(visitor) == ["plain"])
        visitor.write("search-messages", "")
        await visitor.until(lambda: len(values(visitor)) == 7)

    visit("/topics/orders", body)


def test_older_messages_are_added_below(visit: Visit, backend: FakeBackend) -> None:
    for i in range(60):
        backend.append("payments", b"%d" % i)

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(values(visitor)) == 50)
        visitor.click("more")
        await visitor.until(lambda: len(values(visitor)) == 60)
        assert values(visitor) == [str(i) for i in reversed(range(60))]
        await visitor.user.should_not_see(marker="more")

    visit("/topics/payments", body)


def test_live_shows_each_new_message_once_on_top(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.marked("live").value = True
        await visitor.until(lambda: backend.open_tails == 1 and len(values(visitor)) == 6)
        for i in range(20):
            backend.append("orders", b"live-%d" % i, partition=i % 3)
        await visitor.until(lambda: values(visitor)[0] == "live-19")
        assert len(offsets(visitor)) == len(set(offsets(visitor))) == 26

    visit("/topics/orders", body)


def test_a_live_view_holds_a_bounded_number_of_rows(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.marked("live").value = True
        await visitor.until(lambda: backend.open_tails == 1)
        for i in range(3 * LIVE_ROWS_MAX):
            backend.append("payments", b"%d" % i)
        await visitor.until(lambda: values(visitor)[:1] == [str(3 * LIVE_ROWS_MAX - 1)])
        assert len(values(visitor)) == LIVE_ROWS_MAX

    visit("/topics/payments", body)


def test_pausing_holds_new_messages_back_and_counts_them(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.marked("live").value = True
        await visitor.until(lambda: backend.open_tails == 1 and len(values(visitor)) == 6)
        visitor.click("pause")
        await visitor.user.should_see("Resume")
        backend.append("orders", b"held")
        await visitor.user.should_see("Resume (1 new)", retries=50)
        assert "held" not in values(visitor)
        visitor.click("pause")
        await visitor.until(lambda: values(visitor)[0] == "held")

    visit("/topics/orders", body)


def test_opening_a_message_pauses_the_live_view(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.marked("live").value = True
        await visitor.until(lambda: backend.open_tails == 1)
        visitor.user.find(MessageTable).trigger("opened", {"partition": 0, "offset": 0})
        await visitor.user.should_see("Resume")

    visit("/topics/orders", body)


def test_ten_live_pages_share_one_tail_that_ends_with_the_last(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        clients = []
        for _ in range(10):
            await visitor.open("/topics/orders?live=1")
            clients.append(visitor.user.client)
        await visitor.until(lambda: backend.open_tails == 1)
        assert backend.asked["tail"] == 1
        for client in clients:
            client.delete()
        await visitor.until(lambda: backend.open_tails == 0)
        assert visitor.services.tails.topics == []

    visit("/", body)


def test_another_start_than_the_newest_ends_live(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: backend.open_tails == 1)
        visitor.marked("start").value = "oldest"
        await visitor.until(lambda: backend.open_tails == 0)
        assert visitor.marked("live").value is False

    visit("/topics/orders?live=1", body)


def test_the_address_brings_back_what_was_chosen(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: offsets(visitor) == [(1, 1)])
        assert visitor.marked("limit").value == 25

    visit("/topics/orders?from=offset&offset=1&partition=1&limit=25", body)


def test_an_unknown_topic_is_named(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("There is no topic named 'nothing-here'", retries=50)
        assert not visitor.marked("produce-record").enabled

    visit("/topics/nothing-here", body)


def test_a_topic_deleted_by_another_client_is_noticed(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-partitions") == "1")
        await backend.delete_topic("payments")
        await visitor.user.should_see("There is no topic named 'payments'", retries=50)

    visit("/topics/payments", body)


def test_messages_come_by_themselves_when_the_broker_is_back(visit: Visit, backend: FakeBackend) -> None:
    backend.unreachable = True

    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("cannot be reached", retries=50)
        backend.unreachable = False
        await visitor.until(lambda: len(values(visitor)) == 6)

    visit("/topics/orders", body)


def test_leaving_the_page_ends_its_subscriptions(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: backend.open_tails == 1)
        watchers = visitor.services.overview.watchers
        with visitor.user.client:
            await visitor.user.client.sub_pages_router._handle_navigate("/")
        await visitor.until(lambda: backend.open_tails == 0)
        assert visitor.services.overview.watchers == watchers, "the topics page watches instead"

    visit("/topics/orders?live=1", body)
