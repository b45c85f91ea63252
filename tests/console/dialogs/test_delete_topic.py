"""Deleting a topic through the dialog."""

from __future__ import annotations

from penstock.console.components.topic_table import TopicTable
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor


def test_a_topic_is_deleted_only_after_its_name_was_typed(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.the(TopicTable).rows)
        visitor.user.find(TopicTable).trigger("remove", "payments")
        await visitor.user.should_see("Delete topic payments?")
        assert not visitor.marked("delete-confirm").enabled
        visitor.write("typed-name", "payment")
        visitor.click("delete-confirm")
        assert backend.asked["delete_topic"] == 0
        visitor.write("typed-name", "payments")
        assert visitor.marked("delete-confirm").enabled
        visitor.click("delete-confirm")
        await visitor.until(lambda: [row["name"] for row in visitor.the(TopicTable).rows] == ["orders"])
        await visitor.user.should_see("Deleted topic payments")

    visit("/topics", body)


def test_a_deletion_that_fails_says_why(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.the(TopicTable).rows)
        visitor.user.find(TopicTable).trigger("remove", "payments")
        await visitor.user.should_see("Delete topic payments?")
        await backend.delete_topic("payments")
        visitor.write("typed-name", "payments")
        visitor.click("delete-confirm")
        await visitor.user.should_see("There is no topic named 'payments'")

    visit("/topics", body)
