"""Download records of a topic: the format, how many, and which. The file comes from the JSON API."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote, urlencode

from nicegui import ui

from penstock.console.components.controls import select_field, text, text_field
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.downloading import RECORDS_MAX
from penstock.console.filters import compile_any
from penstock.console.query import parse_number

FORMATS = {"json": "JSON, one record a line", "csv": "CSV", "parquet": "Parquet"}


class DownloadDialog(DialogFrame):
    def __init__(self, topic: str, address: Callable[[], dict[str, str]]) -> None:
        """`address` are the parameters of the page: where to start, and which partition."""
        super().__init__("download", f"Download records of {topic}", "Download")
        self._topic, self._address = topic, address
        with self.body:
            text(
                "p",
                "Records from where the page starts, decoded by their schema. With a filter the whole topic "
                "is searched, oldest first.",
                "dialog-text",
            )
            with ui.element("div").classes("dialog-row"):
                self._format = select_field("Format", FORMATS, "json").control.mark("download-format")
                self._limit = text_field("At most", value="1000").control.mark("download-limit")
            self._filter = text_field("Filter", placeholder="none").control.mark("download-filter")

    async def act(self) -> None:
        parse_number("number of records", self._limit.value or "", least=1, most=RECORDS_MAX)
        compile_any(self._filter.value or "")
        asked = self._address() | {"format": self._format.value, "limit": self._limit.value.strip()}
        if self._filter.value:
            asked["filter"] = self._filter.value
        path = f"/api/topics/{quote(self._topic, safe='')}/download?{urlencode(asked)}"
        ui.run_javascript(f"window.location.assign((window.path_prefix || '') + {json.dumps(path)})")
