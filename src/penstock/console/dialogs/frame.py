"""The frame that all dialogs share: a title that names them, a place for what went wrong, and two buttons."""

from __future__ import annotations

from collections.abc import Awaitable
from itertools import count

from nicegui import ui

from penstock.client.errors import ClientError
from penstock.console.components.controls import button, icon, text

_ids = count(1)


class DialogFrame:
    """Subclasses fill `body` and call `finish`; a `ClientError` of the action is shown and keeps the dialog
    open.
    """

    def __init__(self, name: str, title: str, action: str, *, kind: str = "primary") -> None:
        title_id = f"dialog-title-{next(_ids)}"
        self.dialog = ui.dialog().props(f"aria-labelledby={title_id} aria-modal=true").mark(f"{name}-dialog")
        with self.dialog, ui.element("div").classes("dialog"):
            self.title = text("h2", title, "dialog-title").props(f"id={title_id}")
            self.body = ui.element("div").style("display: contents")
            with ui.element("div").classes("notice").props("role=alert") as self._notice:
                icon("warning")
                self._notice_text = text("span", "").mark(f"{name}-error")
            with ui.element("div").classes("dialog-foot"):
                button("Cancel", self.dialog.close)
                self.confirm = button(action, self._confirmed, kind=kind).mark(f"{name}-confirm")
        self._notice.set_visibility(False)

    def open(self) -> None:
        self.complain(None)
        self.dialog.open()

    def complain(self, error: ClientError | None) -> None:
        self._notice_text.set_text("" if error is None else str(error))
        self._notice.set_visibility(error is not None)

    async def act(self) -> None:
        raise NotImplementedError

    async def _confirmed(self) -> None:
        await self.attempt(self.act())

    async def attempt(self, work: Awaitable[None]) -> None:
        """Do it and close; or say why not, and stay open."""
        self.confirm.set_enabled(False)
        try:
            await work
        except ClientError as error:
            self.complain(error)
        else:
            self.dialog.close()
        finally:
            self.confirm.set_enabled(True)
