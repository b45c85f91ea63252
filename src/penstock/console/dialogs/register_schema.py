"""Register a schema under a subject that may be new."""

from __future__ import annotations

from nicegui import ui

from penstock.client.errors import InvalidValue
from penstock.console.components.controls import notify, select_field, text_area, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services

TYPES = {"AVRO": "Avro", "JSON": "JSON Schema", "PROTOBUF": "Protobuf"}


class RegisterSchemaDialog(DialogFrame):
    def __init__(self, services: Services) -> None:
        super().__init__("register", "Register a schema", "Register")
        self._services = services
        with self.body:
            with ui.element("div").classes("dialog-row"):
                self._subject = text_field(
                    "Subject",
                    placeholder="orders-value",
                    hint="TOPIC-value or TOPIC-key, for a topic's records.",
                ).control.mark("schema-subject")
                self._type = select_field("Type", TYPES, "AVRO").control.mark("schema-type")
            self._text = text_area("Schema", rows=10, placeholder='{"type": "record", "name": …}').control
            self._text.mark("schema-text")

    def ask(self) -> None:
        self._subject.value, self._text.value = "", ""
        self.open()

    async def act(self) -> None:
        subject = (self._subject.value or "").strip()
        if not subject:
            raise InvalidValue("The subject has no name. Write one such as orders-value.")
        number = await self._services.schemas.register(subject, self._type.value, self._text.value or "")
        self._services.subjects.refresh()
        notify(f"Registered {subject} as schema {number}")
