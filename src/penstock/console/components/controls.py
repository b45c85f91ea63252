"""Buttons, fields and small marks in the console's own look, over NiceGUI's inputs.

A field has its label above it, tied to the control for screen readers; an icon is always hidden from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple

from nicegui import ui

_ids = count(1)


def icon(name: str, *, spin: bool = False) -> Any:
    return (
        ui.element("span").classes(f"icon icon-{name}" + (" spin" if spin else "")).props("aria-hidden=true")
    )


def text(tag: str, content: str, classes: str = "") -> Any:
    """An element with text in it. The text is never read as markup."""
    element = ui.label(content).classes(classes)
    element.tag = tag
    return element


def button(
    label: str, on_click: Callable[..., Any], *, kind: str = "plain", symbol: str | None = None
) -> Any:
    """`kind` is plain, primary, danger or quiet."""
    made = ui.button(color=None, on_click=on_click).props('flat no-caps :ripple="false"')
    made.classes(f"btn btn-{kind}")
    with made:
        if symbol is not None:
            icon(symbol)
        made.label_element = text("span", label)
    return made


class Field(NamedTuple):
    """A control with its label above it and perhaps a hint below."""

    control: Any
    label: Any
    frame: Any


def field(label: str, make: Callable[[], Any], *, hint: str = "") -> Field:
    """A hint stands below the control until an error takes its place."""
    control_id = f"field-{next(_ids)}"
    with ui.element("div").classes("field") as frame:
        label_element = text("label", label, "field-label").props(f"for={control_id}")
        control = make().props(f"outlined dense no-error-icon hide-bottom-space for={control_id}")
        control.classes("control")
        if hint:
            control.props["hint"] = hint
    return Field(control, label_element, frame)


def text_field(
    label: str, *, hint: str = "", placeholder: str = "", value: str = "", **options: Any
) -> Field:
    def make() -> Any:
        made = ui.input(value=value, placeholder=placeholder, **options)
        return made.props("autocomplete=off spellcheck=false")

    return field(label, make, hint=hint)


def text_area(label: str, *, hint: str = "", placeholder: str = "", rows: int = 5) -> Field:
    def make() -> Any:
        return ui.textarea(placeholder=placeholder).props(f"rows={rows} spellcheck=false").classes("mono")

    return field(label, make, hint=hint)


def select_field(
    label: str, options: Mapping[Any, str], value: Any, on_change: Callable[..., Any] | None = None
) -> Field:
    def make() -> Any:
        made = ui.select(dict(options), value=value, on_change=on_change)
        return made.props('options-dense popup-content-class="menu" behavior=menu')

    return field(label, make)


def switch(label: str, value: bool, on_change: Callable[..., Any]) -> Any:
    return ui.switch(label, value=value, on_change=on_change).props("dense").classes("switch")


def search_box(label: str, on_change: Callable[..., Any]) -> Any:
    """A search field whose label is for screen readers; it reports a change once typing pauses."""
    made = ui.input(placeholder=label, on_change=on_change)
    made.props(
        f'outlined dense debounce=150 aria-label="{label}" type=search autocomplete=off spellcheck=false'
    )
    made.classes("control search")
    with made.add_slot("prepend"):
        icon("search")
    return made


def notify(sentence: str) -> None:
    """A short confirmation that goes away by itself."""
    ui.notify(sentence, position="bottom-right", classes="toast", timeout=4000)
