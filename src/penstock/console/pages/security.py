"""The security page: access control entries and users, where the cluster has them."""

from __future__ import annotations

from nicegui import background_tasks, ui

from penstock.client.acls import Acl
from penstock.client.errors import ClientError
from penstock.client.users import User
from penstock.console.components.controls import button, search_box
from penstock.console.components.grid import Action, Column, Grid, Row
from penstock.console.components.layout import Notice, page_head, panel, tabs
from penstock.console.components.live import Live
from penstock.console.dialogs.access import AclDialog, DeleteAclDialog, DeleteUserDialog, UserDialog
from penstock.console.pages.brokers import BROKER_TABS
from penstock.console.services import Services
from penstock.console.wording import counted

ENTRIES = (
    Column("principal", "Who"),
    Column("permission", "May", "tag", "90px"),
    Column("operation", "Do what", "text", "170px"),
    Column("resource", "With what", "text", "320px"),
    Column("host", "From", "mono", "140px", "wide-only"),
)
USERS = (Column("name", "User"), Column("mechanisms", "Mechanisms", "text", "360px"))
DELETE = Action("delete", "Delete", "trash", danger=True)
PASSWORD = Action("password", "Set password", "edit")
NO_ENTRIES = {"title": "No entries", "text": "Without entries only super users may do something."}
NO_USERS = {
    "title": "No users",
    "text": "Users with a SCRAM password appear here. Others are not kept by brokers.",
}
OFF = {
    "title": "This cluster has no access control",
    "text": "Start it with penstock up --secure, or set authorizer.class.name on the brokers.",
}


def security_page(services: Services) -> None:
    ui.page_title(f"Security · {services.title}")
    SecurityPage(services)


class SecurityPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._entries: dict[str, Acl] = {}
        self._users: list[User] = []
        self._wanted = ""
        with Live("section").classes("page") as self._page:
            with page_head("Security") as self._note:
                button("Look again", self._look, symbol="refresh").mark("security-look")
                button("Create user", self._ask_user, symbol="plus").mark("create-user")
                button("Create entry", self._ask_entry, kind="primary", symbol="plus").mark("create-acl")
            tabs("Brokers", BROKER_TABS, "Security")
            self._notice = Notice("security-notice")
            with ui.element("div").classes("toolbar"):
                search_box("Search who, what and operations", self._searched).mark("search-acls")
            with panel("Access control entries"):
                self._table = Grid(
                    "Access control entries", ENTRIES, NO_ENTRIES, actions=(DELETE,), sort="principal"
                )
            with panel("Users", "With passwords that the brokers keep (SCRAM)."):
                self._people = Grid("Users", USERS, NO_USERS, actions=(PASSWORD, DELETE), sort="name")
            self._new_entry = AclDialog(services, self._look)
            self._old_entry = DeleteAclDialog(services, self._look)
            self._new_user, self._old_user = (
                UserDialog(services, self._look),
                DeleteUserDialog(services, self._look),
            )
        self._table.on("act", lambda event: self._old_entry.ask(self._entries[event.args["id"]]))
        self._people.on("act", lambda event: self._act(event.args["action"], event.args["id"]))
        self._look()

    def _look(self) -> None:
        background_tasks.create(self._read(), name="security", context=self._page)

    async def _read(self) -> None:
        try:
            found = await self._services.backend.acls()
            self._users = await self._services.backend.users()
        except ClientError as error:
            off = "SECURITY_DISABLED" in getattr(error, "kafka_code", "")
            self._notice.show("" if off else str(error))
            self._table.show([], OFF if off else NO_ENTRIES)
            return
        self._notice.show("")
        self._entries = {"/".join(str(part) for part in each): each for each in found}
        self._note.set_text(f"{_entries(len(found))} · {counted(len(self._users), 'user')}")
        self._show()

    def _show(self) -> None:
        rows = [_row(name, each) for name, each in self._entries.items()]
        wanted = self._wanted.casefold()
        self._table.show([row for row in rows if wanted in " ".join(map(str, row.values())).casefold()])
        self._people.show([_user(each) for each in self._users if wanted in each.name.casefold()])

    def _searched(self, event: object) -> None:
        self._wanted = getattr(event, "value", "") or ""
        self._show()

    def _ask_entry(self) -> None:
        self._new_entry.open()

    def _ask_user(self) -> None:
        self._new_user.ask("")

    def _act(self, action: str, name: str) -> None:
        if action == "password":
            self._new_user.ask(name)
        else:
            self._old_user.ask(name)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


def _row(name: str, entry: Acl) -> Row:
    denied = entry.permission == "DENY"
    prefix = "" if entry.pattern_type == "LITERAL" else " (prefix)"
    return {
        "id": name,
        "principal": entry.principal,
        "permission": {"text": entry.permission.lower(), "tone": "bad" if denied else "good"},
        "operation": entry.operation.lower().replace("_", " "),
        "resource": f"{entry.resource_type.lower().replace('_', ' ')} {entry.resource_name}{prefix}",
        "host": entry.host,
    }


def _user(each: User) -> Row:
    mechanisms = ", ".join(
        f"{name} ({count:,} iterations)" for name, count in sorted(each.iterations.items())
    )
    return {"id": each.name, "name": each.name, "mechanisms": mechanisms}
