"""`Live`: an element that ends its subscriptions when it goes, with its sub-page or with its client."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui


class Live(ui.element):
    def until_gone(self, end: Callable[[], None]) -> None:
        """Call `end` when this element is removed."""
        self._ends = [*getattr(self, "_ends", []), end]

    def _handle_delete(self) -> None:
        for end in getattr(self, "_ends", []):
            end()
        super()._handle_delete()
