"""Create and delete access control entries and users; each dialog says what follows from it."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from penstock.client.acls import Acl
from penstock.client.errors import InvalidValue
from penstock.console.components.controls import notify, select_field, text, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services
from penstock.security.operations import Operation, ResourceType

RESOURCES = {
    each.name: each.name.lower().replace("_", " ").capitalize()
    for each in (
        ResourceType.TOPIC,
        ResourceType.GROUP,
        ResourceType.CLUSTER,
        ResourceType.TRANSACTIONAL_ID,
        ResourceType.DELEGATION_TOKEN,
        ResourceType.USER,
    )
}
OPERATIONS = {
    each.name: each.name.lower().replace("_", " ").capitalize()
    for each in Operation
    if each.name not in ("UNKNOWN", "ANY")
}
CLUSTER = "kafka-cluster"


class AclDialog(DialogFrame):
    def __init__(self, services: Services, done: Callable[[], None]) -> None:
        super().__init__("acl", "Create an access control entry", "Create")
        self._services, self._done = services, done
        with self.body:
            with ui.element("div").classes("dialog-row"):
                self._who = text_field("Who", value="User:", hint="User:name, or User:* for all").control
                self._host = text_field("From host", value="*").control.mark("acl-host")
                self._permission = select_field(
                    "Permission", {"ALLOW": "Allow", "DENY": "Deny"}, "ALLOW"
                ).control
            with ui.element("div").classes("dialog-row"):
                self._operation = select_field("To do what", OPERATIONS, "READ").control.mark("acl-operation")
                self._kind = select_field("With what", RESOURCES, "TOPIC").control.mark("acl-resource")
            with ui.element("div").classes("dialog-row"):
                self._name = text_field("Name", hint="* for all; of the cluster it is kafka-cluster").control
                forms = {"LITERAL": "This name", "PREFIXED": "All that begin with it"}
                self._pattern = select_field("Means", forms, "LITERAL").control.mark("acl-pattern")
            self._who.mark("acl-who").props("autofocus")
            self._name.mark("acl-name")
            self._permission.mark("acl-permission")

    async def act(self) -> None:
        who, name = (self._who.value or "").strip(), (self._name.value or "").strip()
        if ":" not in who or who.endswith(":"):
            raise InvalidValue(f"{who!r} names nobody. Write User:name.")
        if self._kind.value == "CLUSTER":
            name = name or CLUSTER
        if not name:
            raise InvalidValue("The entry names nothing. Write a name, or * for all.")
        entry = Acl(
            self._kind.value,
            name,
            self._pattern.value,
            who,
            (self._host.value or "*").strip(),
            self._operation.value,
            self._permission.value,
        )
        await self._services.backend.create_acl(entry)
        notify(f"Created: {sentence(entry)}")
        self._done()


class DeleteAclDialog(DialogFrame):
    def __init__(self, services: Services, done: Callable[[], None]) -> None:
        super().__init__("delete-acl", "Delete this entry?", "Delete entry", kind="danger")
        self._services, self._done = services, done
        self._entry = Acl()
        with self.body:
            self._what = text("p", "", "dialog-text").mark("delete-acl-what")
            text("p", "It takes effect at once, for connections that are open too.", "dialog-text")

    def ask(self, entry: Acl) -> None:
        self._entry = entry
        self._what.set_text(f"No longer holds: {sentence(entry)}.")
        self.open()

    async def act(self) -> None:
        await self._services.backend.delete_acl(self._entry)
        notify("Deleted the entry")
        self._done()


class UserDialog(DialogFrame):
    def __init__(self, services: Services, done: Callable[[], None]) -> None:
        super().__init__("user", "Create a user", "Save")
        self._services, self._done = services, done
        with self.body:
            self._name = text_field("Name").control.mark("user-name").props("autofocus")
            self._password = text_field(
                "Password", hint="Kept by the brokers as SCRAM-SHA-256 and -512."
            ).control
            self._password.props("type=password autocomplete=new-password").mark("user-password")

    def ask(self, name: str) -> None:
        self.title.set_text(f"Set the password of {name}" if name else "Create a user")
        self._name.value, self._password.value = name, ""
        self._name.set_enabled(not name)
        self.open()

    async def act(self) -> None:
        name = (self._name.value or "").strip()
        if not name or not self._password.value:
            raise InvalidValue("A user needs a name and a password.")
        await self._services.backend.set_password(name, self._password.value)
        self._password.value = ""
        notify(f"Saved the password of {name}")
        self._done()


class DeleteUserDialog(DialogFrame):
    def __init__(self, services: Services, done: Callable[[], None]) -> None:
        super().__init__("delete-user", "Delete a user?", "Delete user", kind="danger")
        self._services, self._done, self._name = services, done, ""
        with self.body:
            text(
                "p",
                "The user can no longer log in. Open connections stay until they must log in again. Entries "
                "that name the user stay, and hold again for a new user of this name.",
                "dialog-text",
            )

    def ask(self, name: str) -> None:
        self._name = name
        self.title.set_text(f"Delete user {name}?")
        self.open()

    async def act(self) -> None:
        await self._services.backend.delete_user(self._name)
        notify(f"Deleted user {self._name}")
        self._done()


def sentence(entry: Acl) -> str:
    may = "may" if entry.permission == "ALLOW" else "may not"
    prefix = "" if entry.pattern_type == "LITERAL" else "names that begin with "
    kind = entry.resource_type.lower().replace("_", " ")
    action = entry.operation.lower().replace("_", " ")
    return f"{entry.principal} from {entry.host} {may} {action} {kind} {prefix}{entry.resource_name}"
