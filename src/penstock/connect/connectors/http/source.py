"""Answers of an HTTP API as records. What an offset means is said by `http.offset.mode`:

    SIMPLE_INCREMENTING   how many records there were, from `http.initial.offset` on
    CHAINING              what the last record holds at `http.offset.json.pointer`
    CURSOR_PAGINATION     the page, which an answer names at `http.next.page.json.pointer`, and how many of
                          its records were read

All records of an answer are one transaction, so an offset that several records share is never cut apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.clock import SystemClock
from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.refusals import Mistakes
from penstock.connect.api.source import Place, SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.connect.connectors.http.requests import (
    KEYS,
    Requests,
    StatusError,
    client_mistakes,
    header_lines,
)
from penstock.connect.connectors.http.templates import filled, pointed, url_mistakes
from penstock.connect.errors import ConfigError, ConnectError, DataError, RetriableError

_HIGH, _MEDIUM, _LOW, _TEXT = Importance.HIGH, Importance.MEDIUM, Importance.LOW, Kind.STRING
MODES: Final = ("SIMPLE_INCREMENTING", "CHAINING", "CURSOR_PAGINATION")


def _pointer(name: str, value: Any) -> None:
    if value and not str(value).startswith("/"):
        raise ConfigError(name, value, "A JSON pointer begins with /")


CONFIG: Final = (
    ConfigDef()
    .define("url", _TEXT, importance=_HIGH, validator=non_empty, doc="The address; ${offset} is filled in.")
    .define("topic.name.pattern", _TEXT, importance=_HIGH, validator=non_empty, doc="The topic.")
    .define(
        "http.offset.mode", _TEXT, "SIMPLE_INCREMENTING", importance=_MEDIUM,
        validator=one_of(*MODES), recommended=MODES, doc="What ${offset} is.",
    )
    .define("http.initial.offset", _TEXT, "", importance=_MEDIUM, doc="The first offset.")
    .define(
        "http.offset.json.pointer", _TEXT, "", importance=_MEDIUM, validator=_pointer,
        doc="The offset in a record, for CHAINING.",
    )
    .define(
        "http.next.page.json.pointer", _TEXT, "", importance=_MEDIUM, validator=_pointer,
        doc="The next page in an answer, for CURSOR_PAGINATION.",
    )
    .define(
        "http.response.data.json.pointer", _TEXT, "", importance=_HIGH, validator=_pointer,
        doc="The list of records in an answer; without it, the answer is the list, or the record.",
    )
    .define(
        "http.key.json.pointer", _TEXT, "", importance=_MEDIUM, validator=_pointer,
        doc="The key in a record.",
    )
    .define(
        "http.request.method", _TEXT, "GET", importance=_MEDIUM, validator=one_of("GET", "POST"),
        doc="The method.",
    )
    .define(
        "http.request.headers", Kind.PASSWORD, "", importance=_MEDIUM,
        doc="NAME:VALUE with | between. Not shown: there may be a key in it.",
    )
    .define(
        "http.request.parameters", _TEXT, "", importance=_MEDIUM,
        doc="NAME=VALUE with & between; ${offset} is filled in. Empty ones are left out.",
    )
    .define(
        "http.request.body", _TEXT, "", importance=_LOW, doc="The body of a POST; ${offset} is filled in.",
    )
    .define(
        "request.interval.ms", Kind.LONG, 15_000, importance=_HIGH, validator=at_least(1),
        doc="How long to wait after an answer without records.",
    )
    .plus(KEYS)
)  # fmt: skip
UNSUPPORTED: Final = {
    "entity.names": "Make a connector for each.",
    "http.initial.headers": "Use http.request.headers.",
    "http.chaining.": "",
    "http.snapshot.": "",
    "http.request.parameters.separator": "Parameters have & between them.",
    "http.request.headers.separator": "Headers have | between them.",
    "reporter.": "Use errors.tolerance.",
}


class HttpSourceTask(SourceTask):
    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(config, offsets)
        given = self._given = CONFIG.parse(config)
        headers = header_lines("http.request.headers", given["http.request.headers"], "|")
        self._requests = Requests(given, {"Accept": "application/json", **headers})
        self._place = {"url": given["url"]}
        self._mode: str = given["http.offset.mode"]

    def poll(self) -> Sequence[SourceRecord]:
        known = self.offsets.get(self._place) or {}
        at = str(known.get("offset", self._given["http.initial.offset"]))
        seen = int(known.get("seen", 0))
        answer = self._answer(at)
        data = pointed(answer, self._given["http.response.data.json.pointer"])
        found = data if isinstance(data, list) else [] if data is None else [data]
        match self._mode:
            case "SIMPLE_INCREMENTING":
                first = int(at or 0)
                return [self._record(each, {"offset": str(first + n)}) for n, each in enumerate(found, 1)]
            case "CHAINING":
                return self._chained(found, at)
        return self._page(found, answer, at, seen)

    def _chained(self, found: list[Any], at: str) -> list[SourceRecord]:
        """An API that begins with the record of the offset itself gives nothing new with that alone."""
        pointer = self._given["http.offset.json.pointer"]
        records = []
        for each in found:
            offset = pointed(each, pointer)
            if offset is None or isinstance(offset, (dict, list)):
                raise DataError(f"a record has no offset at {pointer}")
            records.append(self._record(each, {"offset": str(offset)}))
        return [] if records and all(each.offset["offset"] == at for each in records) else records

    def _page(self, found: list[Any], answer: Any, at: str, seen: int) -> list[SourceRecord]:
        records = [
            self._record(each, {"offset": at, "seen": number})
            for number, each in enumerate(found[seen:], seen + 1)
        ]
        following = pointed(answer, self._given["http.next.page.json.pointer"])
        if following not in (None, "", at):
            records.append(SourceRecord(self._place, {"offset": str(following), "seen": 0}, None))
        return records

    def _answer(self, at: str) -> Any:
        words = {"offset": at}
        pairs = [part.partition("=") for part in self._given["http.request.parameters"].split("&") if part]
        params = {name: value.replace("${offset}", at) for name, _, value in pairs}
        given = self._given["http.request.body"]
        body = given.replace("${offset}", json.dumps(at)[1:-1]).encode() if given else None
        url = filled(self._given["url"], words)
        try:
            data = self._requests.send(
                self._given["http.request.method"],
                url,
                body,
                params={name: value for name, value in params.items() if value},
            )
        except StatusError as error:
            if error.status >= 500 or error.status == 429:
                raise RetriableError(str(error)) from error
            raise
        if not data.strip():
            return None
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{url} did not answer with JSON: {error}") from error

    def _record(self, value: Any, offset: Place) -> SourceRecord:
        pointer = self._given["http.key.json.pointer"]
        key = pointed(value, pointer) if pointer else None
        return SourceRecord(
            self._place, offset, ConnectRecord(self._given["topic.name.pattern"], key=key, value=value)
        )

    def close(self) -> None:
        self._requests.close()


class HttpSource(SourceConnector):
    NAMES: ClassVar = ("io.confluent.connect.http.HttpSourceConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = HttpSourceTask
    TASK_NAME: ClassVar = "io.confluent.connect.http.HttpSourceTask"
    GUARANTEE: ClassVar = (
        "exactly once, if the same offset gives the same records: it is committed with the records"
    )

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._interval_s = CONFIG.parse(config)["request.interval.ms"] / 1000
        self._next_at = 0.0

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        found = client_mistakes(config, UNSUPPORTED) + url_mistakes("url", str(config.get("url") or ""))
        mode = config.get("http.offset.mode") or MODES[0]
        needed = {
            "CHAINING": "http.offset.json.pointer", "CURSOR_PAGINATION": "http.next.page.json.pointer",
        }  # fmt: skip
        if mode in needed and not config.get(needed[mode]):
            found.append((needed[mode], f"http.offset.mode={mode} needs it"))
        first = str(config.get("http.initial.offset") or "0")
        if mode == MODES[0] and not first.isdigit():
            found.append(("http.initial.offset", f"http.offset.mode={mode} needs a number"))
        try:
            header_lines("http.request.headers", config.get("http.request.headers") or "", "|")
        except ConfigError as error:
            found.append(("http.request.headers", str(error)))
        return found

    def has_news(self, offsets: SourceOffsets) -> bool:
        now = SystemClock.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + self._interval_s
        return True

    def committed(self, offsets: SourceOffsets) -> None:
        """There were records, so there may be more."""
        self._next_at = 0.0

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if partition.keys() != {"url"}:
                raise ConnectError("Partition objects should contain the key 'url' and no other")
            if offset is not None and "offset" not in offset:
                raise ConnectError("Offset objects should either be null or contain the key 'offset'")
