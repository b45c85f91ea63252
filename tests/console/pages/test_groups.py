"""Groups and one group in a simulated browser: lag, reset with a preview, delete."""

from __future__ import annotations

import pytest

from penstock.console.components.grid import Grid
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor


def grid(visitor: Visitor, caption: str) -> Grid:
    (found,) = [each for each in visitor.user.find(Grid).elements if each._props["caption"] == caption]
    assert isinstance(found, Grid)
    return found


@pytest.fixture(autouse=True)
def groups(backend: FakeBackend) -> None:
    backend.commit("billing", "orders", 0, 1)
    backend.commit("billing", "orders", 1, 2)
    backend.join("reporting", 2)


def test_groups_have_state_members_and_lag(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(grid(visitor, "Groups").rows) == 2)
        billing, reporting = grid(visitor, "Groups").rows
        assert (billing["group"], billing["lag"], billing["members"]) == ("billing", 1, 0)
        assert reporting["state"]["text"] == "Stable"
        await visitor.user.should_see("2 groups · 1 record behind in all")

    visit("/groups", body)


def test_the_search_finds_a_group_by_what_it_reads(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(grid(visitor, "Groups").rows) == 2)
        visitor.write("search-groups", "ORDERS")
        await visitor.until(lambda: [r["group"] for r in grid(visitor, "Groups").rows] == ["billing"])

    visit("/groups", body)


def test_lag_of_each_partition_follows_the_end(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: len(grid(visitor, "Partitions").rows) == 2)
        assert [row["lag"] for row in grid(visitor, "Partitions").rows] == [1, 0]
        for _ in range(5):
            backend.append("orders", b"x", partition=1)
        await visitor.until(lambda: grid(visitor, "Partitions").rows[1]["lag"] == 5)
        await visitor.until(lambda: visitor.text("fact-lag-records") == "6")

    visit("/groups/billing", body)


def test_a_reset_is_previewed_before_it_can_be_done(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("reset-group")
        assert not visitor.marked("reset-confirm").enabled
        visitor.marked("reset-choice").value = "shift"
        visitor.write("reset-value", "-1")
        visitor.click("reset-preview")
        await visitor.until(lambda: grid(visitor, "Preview").rows)
        rows = {row["id"]: (row["committed"], row["wanted"]) for row in grid(visitor, "Preview").rows}
        assert rows["orders-0"] == (1, 0)
        assert rows["orders-1"] == (2, 1)
        assert "2 records will be read again" in visitor.text("reset-sum")
        assert backend._groups["billing"]["orders", 0] == 1, "a preview changes nothing"
        visitor.click("reset-confirm")
        await visitor.until(lambda: backend._groups["billing"]["orders", 0] == 0)

    visit("/groups/billing", body)


def test_a_change_of_mind_takes_the_preview_away(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("reset-group")
        visitor.click("reset-preview")
        await visitor.until(lambda: visitor.marked("reset-confirm").enabled)
        visitor.marked("reset-choice").value = "latest"
        await visitor.until(lambda: not visitor.marked("reset-confirm").enabled)
        assert grid(visitor, "Preview").rows == []

    visit("/groups/billing", body)


def test_a_group_with_members_is_not_reset_and_says_why(visit: Visit, backend: FakeBackend) -> None:
    backend.join("billing", 1)

    async def body(visitor: Visitor) -> None:
        visitor.click("reset-group")
        visitor.click("reset-preview")
        await visitor.until(lambda: visitor.marked("reset-confirm").enabled)
        visitor.click("reset-confirm")
        await visitor.user.should_see("Stop its consumers first", retries=50)

    visit("/groups/billing", body)


def test_a_group_is_deleted_after_its_name_was_typed(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("delete-group")
        visitor.write("typed-group", "billing")
        visitor.click("delete-group-confirm")
        await visitor.until(lambda: "billing" not in backend._groups)

    visit("/groups/billing", body)


def test_a_group_that_is_not_there_is_named(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("There is no consumer group named 'nobody'", retries=50)

    visit("/groups/nobody", body)
