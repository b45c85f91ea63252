"""The three-state theme switch.

It lives in the browser only: the server does not know who sees light or dark.
"""

from __future__ import annotations

from nicegui import ui


class ThemeSwitch(ui.element, component="theme_switch.js"):  # type: ignore[call-arg]
    """System, light or dark, as a group of radio buttons."""
