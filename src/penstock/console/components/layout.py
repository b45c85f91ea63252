"""Parts that every page is made of: its head, tabs, a strip of facts, a panel, what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from penstock.console.components.controls import icon, text
from penstock.console.wording import UNKNOWN

Crumb = tuple[str, str]
"""A word and where it leads."""


@contextmanager
def page_head(title: str, crumbs: Sequence[Crumb] = (), here: str = "") -> Iterator[Any]:
    """The title of a page; buttons made inside stand at its right. Yields the line below the title."""
    with ui.element("div").classes("page-head"):
        with ui.element("div").classes("page-name"):
            if crumbs:
                with ui.element("nav").classes("crumbs").props("aria-label=Breadcrumb"):
                    for word, address in crumbs:
                        text("a", word).props(f'href="{address}"')
                        icon("chevron")
                    text("span", here)
            text("h1", title, "page-title")
            note = text("p", "", "page-note")
        with ui.element("div").classes("page-acts"):
            yield note


def tabs(label: str, entries: Iterable[tuple[str, str]], current: str) -> None:
    """Addresses side by side: each tab is a page that can be sent to a colleague."""
    with ui.element("nav").classes("tabs").props(f'aria-label="{label}"'):
        for word, address in entries:
            link = text("a", word).props(f'href="{address}"')
            if word == current:
                link.props("aria-current=page")


class Facts:
    """A strip of names and values; `show` changes values."""

    def __init__(self, names: Iterable[str]) -> None:
        with ui.element("dl").classes("facts"):
            self._values = {name: self._fact(name) for name in names}

    def show(self, **values: str) -> None:
        """By name in lower case with underscores."""
        for name, value in values.items():
            self._values_by_slug[name].set_text(value)

    @property
    def _values_by_slug(self) -> dict[str, ui.label]:
        return {slug(name): value for name, value in self._values.items()}

    @staticmethod
    def _fact(name: str) -> ui.label:
        with ui.element("div").classes("fact"):
            text("dt", name)
            value: ui.label = text("dd", UNKNOWN).mark(f"fact-{slug(name).replace('_', '-')}")
            return value


def slug(name: str) -> str:
    return name.lower().replace(" ", "_").replace("/", "_")


@contextmanager
def panel(title: str, note: str = "") -> Iterator[Any]:
    """A part of a page with a heading of its own."""
    with ui.element("section").classes("panel") as section:
        with ui.element("div").classes("panel-head"):
            text("h2", title, "panel-title")
            if note:
                text("p", note, "panel-note")
        yield section


class Notice:
    """What went wrong, or nothing."""

    def __init__(self, marker: str, *, tone: str = "") -> None:
        with ui.element("div").classes(f"notice {tone}").props("role=alert") as self._frame:
            icon("warning")
            self._text = text("span", "").mark(marker)
        self._frame.set_visibility(False)

    def show(self, sentence: str) -> None:
        self._text.set_text(sentence)
        self._frame.set_visibility(bool(sentence))


class Away:
    """Stands in for a page whose service does not answer: what it is, and how to start it."""

    def __init__(self, what: str, command: str, describes: str) -> None:
        with ui.element("div").classes("card") as self._frame, ui.element("div").classes("empty"):
            icon("plug")
            text("h2", f"{what} does not answer", "empty-title").mark("away")
            text("p", describes, "empty-text")
            self._why = text("p", "", "empty-text faint")
            text("p", "Start it with", "empty-text")
            text("code", command, "command").mark("away-command")
        self._frame.set_visibility(False)

    def show(self, why: str | None) -> None:
        """None hides it."""
        self._why.set_text((why or "").partition(" Start it with")[0])
        self._frame.set_visibility(why is not None)
