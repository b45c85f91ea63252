"""The schemas page: every subject with its latest version, and registering a schema."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from penstock.console.components.controls import button, search_box
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Away, page_head
from penstock.console.components.live import Live
from penstock.console.dialogs.register_schema import RegisterSchemaDialog
from penstock.console.feed import Reading
from penstock.console.schema_catalogue import SchemaVersion
from penstock.console.services import Services
from penstock.console.wording import counted

COLUMNS = (
    Column("subject", "Subject"),
    Column("type", "Type", "tag", "120px"),
    Column("version", "Versions", "number", "100px"),
    Column("schema_id", "Id", "number", "90px"),
    Column("topic", "Topic", "text", "240px", "wide-only"),
)
NO_SUBJECTS = {
    "title": "No schemas yet",
    "text": "Register one here, or let a producer with a schema serializer do it.",
}
NO_MATCH = {"title": "No subject matches", "text": "Change the search."}
NAMES = {"AVRO": "Avro", "JSON": "JSON Schema", "PROTOBUF": "Protobuf"}


def schemas_page(services: Services) -> None:
    ui.page_title(f"Schemas · {services.title}")
    SchemasPage(services)


class SchemasPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._search = ""
        about = services.schemas.service.about
        with Live("section").classes("page") as page:
            register = RegisterSchemaDialog(services)
            with page_head("Schemas") as self._note:
                button("Register schema", register.ask, kind="primary", symbol="plus").mark("register")
            self._away = Away(f"The {about.name}", about.command, about.describes)
            with ui.element("div").classes("stack") as self._body:
                with ui.element("div").classes("toolbar"):
                    search_box("Search subjects", self._searched).mark("search-subjects")
                self._table = Grid("Subjects", COLUMNS, NO_SUBJECTS, sort="subject")
        page.until_gone(services.subjects.watch(self._receive))

    def _searched(self, event: Any) -> None:
        self._search = (event.value or "").strip().casefold()
        self._receive(self._services.subjects.reading)

    def _receive(self, reading: Reading[list[SchemaVersion]]) -> None:
        self._away.show(None if reading.error is None else str(reading.error))
        self._body.set_visibility(reading.error is None)
        if reading.value is None:
            return
        found = [each for each in reading.value if self._search in each.subject.casefold()]
        self._table.show([_row(each) for each in found], NO_MATCH if reading.value else NO_SUBJECTS)
        self._note.set_text(counted(len(reading.value), "subject"))


def _row(each: SchemaVersion) -> Row:
    return {
        "id": each.subject,
        "href": f"/schemas/{quote(each.subject, safe='')}",
        "subject": each.subject,
        "type": NAMES.get(each.schema_type, each.schema_type),
        "version": each.version,
        "schema_id": each.schema_id,
        "topic": each.topic,
    }
