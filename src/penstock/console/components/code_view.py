"""Text that is only read: code, and the difference of two texts line by line."""

from __future__ import annotations

from collections.abc import Iterable

from nicegui import ui

from penstock.console.components.controls import text
from penstock.console.schema_catalogue import DiffLine

SIGNS = {"added": "+ ", "removed": "− ", "kept": "  "}


class CodeView:
    def __init__(self, label: str, marker: str) -> None:
        self._frame = ui.element("pre").classes("code-block").mark(marker)
        self._frame.props(f'tabindex=0 role=region aria-label="{label}"')
        self.content = ""

    def set_visibility(self, visible: bool) -> None:
        self._frame.set_visibility(visible)

    def show(self, content: str) -> None:
        self.content = content
        self._frame.clear()
        with self._frame:
            text("span", content)

    def show_difference(self, lines: Iterable[DiffLine]) -> None:
        shown = list(lines)
        self.content = "\n".join(SIGNS[line.kind] + line.text for line in shown)
        self._frame.clear()
        with self._frame:
            for line in shown:
                text("span", SIGNS[line.kind] + line.text, line.kind)
