"""Partitions, settings and readers of a topic; brokers and transactions."""

from __future__ import annotations

import pytest

from penstock.console.cluster_values import HangingTransaction, TransactionState
from penstock.console.components.grid import Grid
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor
from tests.console.pages.test_groups import grid


def test_partitions_have_leader_replicas_offsets_and_size(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: [row["size"] for row in grid(visitor, "Partitions").rows] == [200] * 3)
        first = grid(visitor, "Partitions").rows[0]
        assert (first["leader"], first["replicas"], first["end"]) == (1, "1", 2)
        assert first["state"]["text"] == "in sync"

    visit("/topics/orders/partitions", body)


def test_partitions_are_added(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(grid(visitor, "Partitions").rows) == 3)
        visitor.click("add-partitions")
        assert visitor.marked("grow-total").value == "4"
        visitor.write("grow-total", "5")
        visitor.click("grow-confirm")
        await visitor.until(lambda: len(grid(visitor, "Partitions").rows) == 5)

    visit("/topics/orders/partitions", body)


def test_a_topic_is_emptied_after_its_name_was_typed(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Partitions").rows)
        visitor.click("empty-topic")
        visitor.click("empty-confirm")
        assert backend.asked["empty_topic"] == 0
        visitor.write("typed-topic", "orders")
        visitor.click("empty-confirm")
        await visitor.until(lambda: all(row["records"] == 0 for row in grid(visitor, "Partitions").rows))

    visit("/topics/orders/partitions", body)


def test_settings_say_what_they_mean_and_are_changed_and_taken_back(
    visit: Visit, backend: FakeBackend
) -> None:
    def value(visitor: Visitor, name: str) -> str:
        (row,) = [row for row in grid(visitor, "Settings").rows if row["id"] == name]
        return str(row["value"])

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Settings").rows)
        assert "keeps" in next(r["doc"] for r in grid(visitor, "Settings").rows if r["id"] == "retention.ms")
        visitor.user.find(Grid).trigger("act", {"action": "change", "id": "retention.ms"})
        await visitor.until(lambda: "604800000" in visitor.text("setting-default"))
        visitor.write("setting-value", "1000")
        visitor.click("setting-confirm")
        await visitor.until(lambda: value(visitor, "retention.ms") == "1000")
        assert grid(visitor, "Settings").rows[0]["id"] == "retention.ms", "what differs comes first"
        visitor.user.find(Grid).trigger("act", {"action": "change", "id": "retention.ms"})
        visitor.click("setting-back")
        await visitor.until(lambda: value(visitor, "retention.ms") == "604800000")

    visit("/topics/orders/settings", body)


def test_who_reads_a_topic(visit: Visit, backend: FakeBackend) -> None:
    backend.commit("billing", "orders", 0, 1)
    backend.commit("other", "payments", 0, 0)

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: [row["id"] for row in grid(visitor, "Readers").rows] == ["billing"])

    visit("/topics/orders/readers", body)


def test_brokers_directories_and_the_quorum(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Metadata quorum").rows)
        await visitor.until(lambda: grid(visitor, "Log directories").rows)
        assert grid(visitor, "Brokers").rows[0]["address"] == "127.0.0.1:9092"
        assert grid(visitor, "Log directories").rows[0]["full"] == 30.0
        assert grid(visitor, "Metadata quorum").rows[0]["role"]["text"] == "leader"

    visit("/brokers", body)


@pytest.mark.parametrize(("name", "acts"), [("log.retention.hours", ["change"]), ("node.id", [])])
def test_only_dynamic_settings_of_a_broker_can_be_changed(visit: Visit, name: str, acts: list[str]) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Settings").rows)
        (row,) = [row for row in grid(visitor, "Settings").rows if row["id"] == name]
        assert row["acts"] == acts

    visit("/brokers/1", body)


def test_a_transaction_that_hangs_is_aborted(visit: Visit, backend: FakeBackend) -> None:
    backend.open_transactions.append(
        TransactionState("payments-1", 1, 7, 0, "Ongoing", 60_000, 1_700_000_000_000, (("orders", 0),))
    )
    backend.hanging.append(HangingTransaction("orders", 0, 7, 0, 0, 3, 1_700_000_000_000))

    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Hanging transactions").rows)
        assert grid(visitor, "Transactions").rows[0]["partitions"] == "orders-0"
        table = grid(visitor, "Hanging transactions")
        visitor.user.find(Grid).trigger("act", {"action": "abort", "id": table.rows[0]["id"]})
        visitor.click("abort-confirm")
        await visitor.until(lambda: not backend.hanging)
        await visitor.until(lambda: not grid(visitor, "Hanging transactions").rows)

    visit("/transactions", body)
