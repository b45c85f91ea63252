"""Send a connector's dead letters again, after saying what that does."""

from __future__ import annotations

from collections.abc import Callable

from penstock.console.components.controls import notify, text
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services
from penstock.console.wording import counted


class RedriveDialog(DialogFrame):
    def __init__(self, services: Services, connector: str, done: Callable[[], None]) -> None:
        super().__init__("redrive", f"Send the dead letters of {connector} again?", "Send again")
        self._services, self._connector, self._done = services, connector, done
        with self.body:
            self._what = text("p", "", "dialog-text").mark("redrive-what")
            text(
                "p",
                "They are written to the topics that they came from, without the headers of their failure. "
                "Every reader of these topics gets them a second time. Each letter is sent once: the next "
                "redrive begins behind it. What still cannot be taken becomes a dead letter again.",
                "dialog-text",
            )

    def ask(self, waiting: int, topic: str) -> None:
        self._what.set_text(f"{counted(waiting, 'dead letter')} in {topic} will be sent again.")
        self.open()

    async def act(self) -> None:
        sent = await self._services.connectors.redrive(self._connector)
        notify(f"{counted(sent, 'dead letter')} sent again")
        self._done()
