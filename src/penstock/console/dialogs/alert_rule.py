"""Create or edit a rule of alerts, and silence one for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from penstock.client.errors import InvalidValue
from penstock.console.alert_rules import CHANNELS, KINDS, Channel, Rule
from penstock.console.components.controls import notify, select_field, switch, text, text_area, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services

SPANS = {0: "Not at all", 15: "15 minutes", 60: "an hour", 480: "8 hours", 1440: "a day"}
EXAMPLE = "slack https://hooks.example.org/…"


class RuleDialog(DialogFrame):
    def __init__(self, services: Services, done: Callable[[], None]) -> None:
        super().__init__("rule", "Create a rule", "Save")
        self._services, self._done = services, done
        with self.body:
            self._name = text_field("Name", placeholder="orders are read").control.mark("rule-name")
            kinds = {name: kind.title for name, kind in KINDS.items()}
            self._kind = select_field("When", kinds, "lag", self._changed).control.mark("rule-kind")
            with ui.element("div").classes("dialog-row"):
                self._target = text_field("Of which", hint="A name; * and ? stand for any letters.")
                self._target.control.mark("rule-target")
                self._threshold = text_field("More than", value="0")
                self._threshold.control.mark("rule-threshold")
                self._wait = text_field("For so many seconds", value="0").control.mark("rule-for")
            self._channels = text_area(
                "Tell",
                rows=2,
                placeholder=EXAMPLE,
                hint="One a line: webhook URL, slack URL, or email ADDRESS.",
            ).control.mark("rule-channels")
            self._enabled = switch("On", True, lambda _: None).mark("rule-enabled")

    def ask(self, rule: Any = None) -> None:
        known = rule if isinstance(rule, Rule) else Rule("", "lag", "*", 1000)
        self.title.set_text(f"Edit {known.name}" if known.name else "Create a rule")
        self._name.value, self._kind.value, self._target.control.value = known.name, known.kind, known.target
        self._name.set_enabled(not known.name)
        self._threshold.control.value, self._wait.value = f"{known.threshold:g}", f"{known.for_s:g}"
        self._channels.value = "\n".join(f"{each.kind} {each.to}" for each in known.channels)
        self._enabled.value = known.enabled
        self._changed()
        self.open()

    async def act(self) -> None:
        rule = Rule(
            (self._name.value or "").strip(),
            self._kind.value,
            (self._target.control.value or "").strip() or "*",
            _number("threshold", self._threshold.control.value),
            _number("number of seconds", self._wait.value),
            parse_channels(self._channels.value or ""),
            bool(self._enabled.value),
        )
        await self._services.alerts.save(rule)
        notify(f"Saved rule {rule.name}")
        self._done()

    def _changed(self) -> None:
        unit = KINDS[self._kind.value].unit
        self._threshold.frame.set_visibility(bool(unit))
        self._threshold.label.set_text(f"Threshold, {unit}")


class SilenceDialog(DialogFrame):
    def __init__(self, services: Services, done: Callable[[], None]) -> None:
        super().__init__("silence", "Silence a rule", "Silence")
        self._services, self._done = services, done
        self._rule = ""
        with self.body:
            text(
                "p", "Its alerts still stand on this page and in the history; nobody is told.", "dialog-text"
            )
            self._span = select_field("For", SPANS, 60).control.mark("silence-span")
            self._reason = text_field("Why", placeholder="planned work").control.mark("silence-reason")

    def ask(self, rule: Rule) -> None:
        self._rule = rule.name
        self.title.set_text(f"Silence {rule.name}")
        self.open()

    async def act(self) -> None:
        await self._services.alerts.silence(self._rule, float(self._span.value), self._reason.value or "")
        self._done()


def parse_channels(text: str) -> tuple[Channel, ...]:
    channels = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        kind, _, address = line.partition(" ")
        if kind.lower() not in CHANNELS or not address.strip():
            raise InvalidValue(f"{line!r:.120} names no channel. Write a line such as {EXAMPLE}")
        channels.append(Channel(kind.lower(), address.strip()))
    return tuple(channels)


def _number(name: str, text: str | None) -> float:
    try:
        value = float(text or "0")
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e15:
        raise InvalidValue(f"{text!r} is no {name}. Write a number from 0 on.")
    return value
