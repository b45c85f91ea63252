"""Create a topic: name, partitions, replicas, cleanup policy, and any other setting as name=value lines."""

from __future__ import annotations

from nicegui import ui

from penstock.client.admin import TOPIC_NAME
from penstock.client.errors import InvalidValue
from penstock.console.components.controls import notify, select_field, text_area, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.query import parse_number
from penstock.console.services import Services

POLICIES = {"delete": "Delete", "compact": "Compact", "compact,delete": "Both"}
NAME_HINT = "Letters, digits, dots, underscores and hyphens; at most 249."


class CreateTopicDialog(DialogFrame):
    def __init__(self, services: Services) -> None:
        super().__init__("create", "Create topic", "Create topic")
        self._services = services
        with self.body:
            self._name = (
                text_field(
                    "Name", hint=NAME_HINT, placeholder="orders", validation={NAME_HINT: _is_name_or_empty}
                )
                .control.mark("topic-name")
                .props("autofocus")
            )
            self._name.on("keydown.enter", self._confirmed)
            with ui.element("div").classes("dialog-row"):
                self._partitions = text_field("Partitions", value="1").control.mark("topic-partitions")
                self._replicas = text_field("Replicas", value="1").control.mark("topic-replicas")
                self._policy = select_field("Cleanup policy", POLICIES, "delete").control.mark("topic-policy")
            self._settings = text_area(
                "Other settings", placeholder="retention.ms=86400000", rows=3, hint="One name=value a line."
            ).control.mark("topic-settings")

    def ask(self) -> None:
        self._name.value, self._partitions.value, self._replicas.value = "", "1", "1"
        self._policy.value, self._settings.value = "delete", ""
        self.open()

    async def act(self) -> None:
        name = (self._name.value or "").strip()
        partitions = parse_number("number of partitions", self._partitions.value or "", least=1, most=100_000)
        replicas = parse_number("number of replicas", self._replicas.value or "", least=1, most=32_767)
        configs = parse_settings(self._settings.value or "")
        if self._policy.value != "delete":
            configs.setdefault("cleanup.policy", self._policy.value)
        await self._services.backend.create_topic(name, partitions, replicas, configs)
        self._services.overview.refresh()
        notify(f"Created topic {name}")


def parse_settings(text: str) -> dict[str, str]:
    """Lines of name=value; empty lines do not count."""
    settings: dict[str, str] = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise InvalidValue(f"{line!r:.120} is not a setting. Write name=value, one a line.")
        settings[name.strip()] = value.strip()
    return settings


def _is_name_or_empty(name: str) -> bool:
    return not name or TOPIC_NAME.fullmatch(name.strip()) is not None
