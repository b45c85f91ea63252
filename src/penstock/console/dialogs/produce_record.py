"""Produce one record: key, value (text, checked JSON, by the topic's schema, hex bytes or null), headers, and
the partition if it matters. The same dialog writes a record again, with edits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nicegui import ui

from penstock.client.errors import ClientError, InvalidValue
from penstock.client.paging import Message
from penstock.client.sending import NewRecord
from penstock.console.components.controls import notify, select_field, text, text_area, text_field
from penstock.console.decoding import show
from penstock.console.decoding_records import Decoded
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.schema_form import FormField, form_of, value_of
from penstock.console.services import Services

FORMATS = {
    "text": "Text",
    "json": "JSON, checked",
    "schema": "By the topic's schema",
    "hex": "Bytes in hex",
    "null": "Null (tombstone)",
}
AUTO = "auto"
SHOWN_BYTES = 1024 * 1024


class ProduceRecordDialog(DialogFrame):
    def __init__(self, services: Services, topic: str, produced: Callable[[], None]) -> None:
        super().__init__("produce", f"Produce a record to {topic}", "Produce")
        self._services = services
        self._topic = topic
        self._produced = produced
        self._key_bytes: bytes | None = None
        self._form: list[FormField] | None = None
        self._fields: dict[str, Any] = {}
        with self.body:
            with ui.element("div").classes("dialog-row"):
                self._key = text_field("Key", placeholder="none").control.mark("record-key")
                self._partition = select_field("Partition", {AUTO: "By key"}, AUTO).control
                self._partition.mark("record-partition")
                chosen = select_field("Value is", FORMATS, "text", self._format_changed)
                self._format = chosen.control.mark("record-format")
            self._schema_note = text("p", "", "dialog-text").mark("record-schema")
            self._form_frame = ui.element("div").classes("form-grid")
            made = text_area("Value", rows=6)
            self._value, self._value_frame = made.control.mark("record-value").props("autofocus"), made.frame
            self._headers = text_area("Headers", rows=2, hint="One name: value a line.").control
            self._headers.mark("record-headers")
        self._show_form(None)

    @property
    def subject(self) -> str:
        return f"{self._topic}-value"

    def ask(self, partitions: int) -> None:
        self._key_bytes = None
        self._offer(partitions)
        self.open()

    def again(self, message: Message, decoded: Decoded | None, partitions: int) -> None:
        """The record as it was, to be edited and written once more."""
        self._offer(partitions)
        self._key_bytes = message.key
        self._key.value = key_text(message.key)
        self._headers.value = "\n".join(
            f"{name}: {(value or b'').decode('utf-8', 'replace')}" for name, value in message.headers
        )
        form, value = value_text(message.value, decoded)
        self._format.value = form
        self._show_form(None)  # the value as it was, not an empty form
        self._value.value = value
        self.open()

    async def act(self) -> None:
        key = self._key.value or ""
        record = NewRecord(
            await self._encoded(),
            self._key_bytes if key == key_text(self._key_bytes) else key.encode() or None,
            parse_headers(self._headers.value or ""),
            None if self._partition.value == AUTO else int(self._partition.value),
        )
        done = await self._services.backend.produce(self._topic, record)
        notify(f"Written to partition {done.partition} at offset {done.offset:,}")
        self._produced()

    async def _encoded(self) -> bytes | None:
        if self._format.value != "schema":
            return encode_value(self._value.value or "", self._format.value)
        written = self._value.value or ""
        if self._form is not None:
            written = value_of(
                self._form, {name: str(each.value or "") for name, each in self._fields.items()}
            )
        return await self._services.backend.encoded(self.subject, written)

    def _offer(self, partitions: int) -> None:
        self._partition.set_options(
            {AUTO: "By key"} | {str(p): str(p) for p in range(partitions)}, value=AUTO
        )

    # -- the form of a schema

    async def _format_changed(self) -> None:
        self._schema_note.set_visibility(False)
        if self._format.value != "schema":
            self._show_form(None)
            return
        try:
            found = await self._services.schemas.subject(self.subject)
        except ClientError as error:
            self.complain(error)
            return
        latest = found.versions[-1]
        self._schema_note.set_text(f"{self.subject}, version {latest.version}, {latest.schema_type}.")
        self._schema_note.set_visibility(True)
        if not self._value.value:  # a value that was written before is not thrown away
            self._show_form(form_of(latest.schema_type, latest.text))

    def _show_form(self, form: list[FormField] | None) -> None:
        self._form, self._fields = form, {}
        self._form_frame.clear()
        self._form_frame.set_visibility(form is not None)
        self._value_frame.set_visibility(form is None)
        if form is not None:
            with self._form_frame:
                self._fields = {each.name: _made(each) for each in form}


def _made(each: FormField) -> Any:
    name = f"{each.name} *" if each.required else each.name
    if each.choices:
        empty = {} if each.required else {"": "none"}
        options = empty | {choice: choice for choice in each.choices}
        first = each.default.strip('"') or next(iter(options))
        return select_field(name, options, first).control.mark(f"record-field-{each.name}")
    if each.kind == "boolean":
        options = {"": "none", "true": "true", "false": "false"}
        return select_field(name, options, each.default or "").control.mark(f"record-field-{each.name}")
    made = text_field(name, hint=each.hint, placeholder=each.default or ("null" if each.branch else ""))
    return made.control.mark(f"record-field-{each.name}")


def key_text(key: bytes | None) -> str:
    """As the field shows it; a key that is no text keeps its bytes unless the field is changed."""
    if not key:
        return ""
    try:
        return key.decode()
    except UnicodeDecodeError:
        return f"bytes {key.hex(' ')}"


def value_text(value: bytes | None, decoded: Decoded | None) -> tuple[str, str]:
    """The format and the text that give the same value again."""
    if value is None:
        return "null", ""
    if decoded is not None and not decoded.failed:
        return "schema", show(decoded.text.encode(), SHOWN_BYTES).text
    shown = show(value, SHOWN_BYTES)
    if shown.encoding in ("text", "json", "empty") and not shown.truncated:
        return ("json" if shown.encoding == "json" else "text"), value.decode()
    return "hex", value.hex(" ")


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
