"""A code editor with the console's colours; the browser's theme decides whether they are light or dark."""

from __future__ import annotations

from typing import Any

from nicegui import ui


def code_editor(language: str, value: str = "", *, label: str, height: str = "220px") -> Any:
    made = ui.codemirror(value, language=language, line_wrapping=True)
    made.classes("code-editor").style(f"height: {height}").props(f'aria-label="{label}" role=group')
    return made
