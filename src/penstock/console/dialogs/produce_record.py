"""Produce one record: key, value (text, checked JSON, hex bytes or null), headers, and the partition if it
matters.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from nicegui import ui

from penstock.client.errors import InvalidValue
from penstock.client.sending import NewRecord
from penstock.console.components.controls import notify, select_field, text_area, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.services import Services

FORMATS = {"text": "Text", "json": "JSON, checked", "hex": "Bytes in hex", "null": "Null (tombstone)"}
AUTO = "auto"


class ProduceRecordDialog(DialogFrame):
    def __init__(self, services: Services, topic: str, produced: Callable[[], None]) -> None:
        super().__init__("produce", f"Produce a record to {topic}", "Produce")
        self._services = services
        self._topic = topic
        self._produced = produced
        with self.body:
            with ui.element("div").classes("dialog-row"):
                self._key = text_field("Key", placeholder="none").control.mark("record-key")
                self._partition = select_field("Partition", {AUTO: "By key"}, AUTO).control
                self._partition.mark("record-partition")
                self._format = select_field("Value is", FORMATS, "text").control.mark("record-format")
            self._value = text_area("Value", rows=6).control.mark("record-value").props("autofocus")
            self._headers = text_area("Headers", rows=2, hint="One name: value a line.").control
            self._headers.mark("record-headers")

    def ask(self, partitions: int) -> None:
        self._partition.set_options(
            {AUTO: "By key"} | {str(p): str(p) for p in range(partitions)}, value=AUTO
        )
        self.open()

    async def act(self) -> None:
        record = NewRecord(
            encode_value(self._value.value or "", self._format.value),
            (self._key.value or "").encode() or None,
            parse_headers(self._headers.value or ""),
            None if self._partition.value == AUTO else int(self._partition.value),
        )
        done = await self._services.backend.produce(self._topic, record)
        notify(f"Written to partition {done.partition} at offset {done.offset:,}")
        self._produced()


def encode_value(text: str, form: str) -> bytes | None:
    if form == "null":
        return None
    if form == "hex":
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise InvalidValue(
                f"{text!r:.80} is not hex. Write two digits for each byte, such as 00 ff 1a."
            ) from None
    if form == "json":
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidValue(f"The value is not JSON: {error}. Mend it, or send it as text.") from None
    return text.encode()


def parse_headers(text: str) -> tuple[tuple[str, bytes | None], ...]:
    """Lines of `name: value`; a name may come twice."""
    headers: list[tuple[str, bytes | None]] = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise InvalidValue(f"{line!r:.120} is not a header. Write name: value, one a line.")
        headers.append((name.strip(), value.strip().encode()))
    return tuple(headers)
