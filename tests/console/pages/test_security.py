"""Access control entries and users in a simulated browser."""

from __future__ import annotations

from penstock.client.acls import Acl
from penstock.console.components.grid import Grid
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor
from tests.console.pages.test_groups import grid

ENTRY = Acl("TOPIC", "orders", "PREFIXED", "User:ada", "*", "READ", "ALLOW")


def test_an_entry_is_created_found_and_deleted(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("create-acl")
        visitor.write("acl-who", "User:")
        visitor.click("acl-confirm")
        await visitor.user.should_see("names nobody", retries=50)
        visitor.write("acl-who", "User:ada")
        visitor.write("acl-name", "orders")
        visitor.marked("acl-pattern").value = "PREFIXED"
        visitor.click("acl-confirm")
        await visitor.until(lambda: backend.entries == [ENTRY])
        table = grid(visitor, "Access control entries")
        await visitor.until(lambda: table.rows)
        assert table.rows[0]["resource"] == "topic orders (prefix)"
        visitor.user.find(Grid).trigger("act", {"action": "delete", "id": table.rows[0]["id"]})
        said = "No longer holds: User:ada from * may read topic names that begin with orders."
        await visitor.until(lambda: visitor.text("delete-acl-what") == said)
        visitor.click("delete-acl-confirm")
        await visitor.until(lambda: backend.entries == [])

    visit("/security", body)


def test_a_user_gets_a_password(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("create-user")
        visitor.write("user-name", "grace")
        visitor.write("user-password", "secret")
        visitor.click("user-confirm")
        await visitor.until(lambda: [row["name"] for row in grid(visitor, "Users").rows] == ["grace"])
        assert backend.passwords == {"grace": "secret"}
        assert visitor.marked("user-password").value == ""

    visit("/security", body)
