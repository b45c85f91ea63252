"""The page of one subject: its versions, the difference of any two, and an edit that is checked before it is
registered.
"""

from __future__ import annotations

from urllib.parse import quote

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.console.components.code_view import CodeView
from penstock.console.components.controls import button, notify, select_field, text
from penstock.console.components.editor import code_editor
from penstock.console.components.layout import Facts, Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.pages.schemas import NAMES
from penstock.console.schema_catalogue import Subject, difference
from penstock.console.services import Services
from penstock.console.wording import number

LEVELS = (
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
    "NONE",
)
NOTHING = 0
FACTS = ("Type", "Versions", "Latest id", "Compatibility", "Referenced by")


def schema_page(services: Services, name: str) -> None:
    ui.page_title(f"{name} · {services.title}")
    SchemaPage(services, name)


class SchemaPage:
    _subject: Subject

    def __init__(self, services: Services, name: str) -> None:
        self._services, self._name = services, name
        with Live("section").classes("page") as self._page:
            with page_head(name, (("Schemas", "/schemas"),), "Subject") as self._note:
                pass
            self._notice = Notice("schema-notice")
            self._facts = Facts(FACTS)
            with ui.element("div").classes("columns"):
                self._build_versions()
                self._build_edit()
            with panel("Who uses it"):
                self._users = ui.element("div").classes("card concerns")
        self._read()

    def _build_versions(self) -> None:
        with panel("Versions", "One version, or the difference of two."):
            with ui.element("div").classes("toolbar"):
                self._newer = select_field("Version", {}, None, self._show_text).control.mark("version")
                self._older = select_field("Compared with", {}, None, self._show_text).control.mark(
                    "compared"
                )
            self._code = CodeView("Schema", "schema-code")
            self._references = text("p", "", "panel-note")

    def _build_edit(self) -> None:
        with panel("Edit", "An edit is checked by the subject's level; the check says what breaks and why."):
            self._editor = code_editor("JSON", label="Edited schema", height="260px").mark("schema-editor")
            with ui.element("div").classes("toolbar"):
                button("Check", self._check).mark("check")
                button("Register as new version", self._register, kind="primary").mark("register-version")
            with ui.element("div").classes("toolbar"):
                self._level = select_field("Compatibility level", {each: each for each in LEVELS}, None)
                self._level.control.mark("level")
                self._level.frame.classes("wide")
                button("Set level", self._set_level).mark("set-level")
            self._fits = Notice("fits", tone="good")
            self._breaks = Notice("breaks")

    def _read(self) -> None:
        background_tasks.create(self._load(), name=f"subject {self._name}", context=self._page)

    async def _load(self) -> None:
        try:
            self._subject = await self._services.schemas.subject(self._name)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._notice.show("")
        subject, latest = self._subject, self._subject.versions[-1]
        self._facts.show(
            type=NAMES.get(latest.schema_type, latest.schema_type),
            versions=number(len(subject.versions)),
            latest_id=number(latest.schema_id),
            compatibility=subject.level + ("" if subject.own_level else " (the registry's)"),
            referenced_by=number(len(subject.referenced_by)),
        )
        choices = {each.version: f"Version {each.version}" for each in reversed(subject.versions)}
        self._older.set_options({NOTHING: "Nothing"} | choices, value=NOTHING)
        self._newer.set_options(choices, value=latest.version)
        self._editor.value = latest.pretty
        self._level.control.value = subject.level
        self._show_text()
        self._show_users()

    def _show_text(self) -> None:
        versions = {each.version: each for each in self._subject.versions}
        newer = versions.get(self._newer.value)
        if newer is None:
            return
        older = versions.get(self._older.value)
        if older is None:
            self._code.show(newer.pretty)
        else:
            self._code.show_difference(difference(older.pretty, newer.pretty))
        self._references.set_text("Refers to " + "; ".join(newer.references) if newer.references else "")

    def _show_users(self) -> None:
        """Topics by the subject's name; groups by the topics; other schemas by reference."""
        topic = self._subject.versions[-1].topic
        overview, groups = self._services.overview.reading.value, self._services.groups.reading.value
        self._users.clear()
        with self._users, ui.element("ul").classes("concern-list"):
            if topic and overview is not None and overview.topic(topic) is not None:
                _line(f"Topic {topic}", f"/topics/{quote(topic, safe='')}")
                for group in groups.readers(topic) if groups else ():
                    name = group.info.group_id
                    _line(f"Group {name} reads the topic", f"/groups/{quote(name, safe='')}")
            elif topic:
                _line(f"The name stands for topic {topic}, which does not exist", "")
            for schema_id in self._subject.referenced_by:
                _line(f"Schema {schema_id} refers to the latest version", "")
            _line("Clients that embed the schema, or other subject names, are not known here.", "")

    async def _check(self) -> None:
        self._fits.show("")
        self._breaks.show("")
        kind = self._subject.versions[-1].schema_type
        try:
            verdict = await self._services.schemas.check(self._name, kind, self._editor.value or "")
        except ClientError as error:
            self._breaks.show(str(error))
            return
        if verdict.compatible:
            self._fits.show(f"It fits {self._subject.level}. It can be registered.")
        else:
            why = " ".join(verdict.reasons) or "The registry gives no reason."
            self._breaks.show(f"It breaks {self._subject.level}: {why}")

    async def _set_level(self) -> None:
        try:
            await self._services.schemas.set_level(self._name, self._level.control.value)
        except ClientError as error:
            self._breaks.show(str(error))
            return
        notify(f"{self._name} is checked by {self._level.control.value} from now on")
        self._read()

    async def _register(self) -> None:
        kind = self._subject.versions[-1].schema_type
        try:
            schema_id = await self._services.schemas.register(self._name, kind, self._editor.value or "")
        except ClientError as error:
            self._breaks.show(str(error))
            return
        self._breaks.show("")
        notify(f"Registered as schema {schema_id}")
        self._services.subjects.refresh()
        self._read()


def _line(sentence: str, href: str) -> None:
    with ui.element("li").classes("concern"):
        if href:
            text("a", sentence).props(f'href="{href}"')
        else:
            text("span", sentence)
