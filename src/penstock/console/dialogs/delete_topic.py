"""Delete a topic, after its name has been typed: what is in it is gone for good."""

from __future__ import annotations

from penstock.console.components.controls import notify, text, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services


class DeleteTopicDialog(DialogFrame):
    def __init__(self, services: Services) -> None:
        super().__init__("delete", "Delete topic", "Delete topic", kind="danger")
        self._services = services
        self._topic = ""
        with self.body:
            self._text = text("p", "", "dialog-text")
            self._typed = text_field("Type the topic's name to confirm", on_change=self._check).control
            self._typed.mark("typed-name").props("autofocus")

    def ask(self, topic: str) -> None:
        self._topic = topic
        self.title.set_text(f"Delete topic {topic}?")
        self._text.set_text(
            "All its messages are deleted from the broker and cannot be brought back. "
            "Producers and consumers that use it will fail, or create it anew."
        )
        self._typed.value = ""
        self._check()
        self.open()

    async def act(self) -> None:
        if self._typed.value != self._topic:
            return
        await self._services.backend.delete_topic(self._topic)
        self._services.overview.refresh()
        notify(f"Deleted topic {self._topic}")

    def _check(self) -> None:
        self.confirm.set_enabled(self._typed.value == self._topic)
