"""Records as HTTP requests, one each or many together, in their order."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.refusals import Mistakes
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.connectors.http.requests import (
    KEYS,
    Requests,
    StatusError,
    client_mistakes,
    header_lines,
)
from penstock.connect.connectors.http.templates import record_url, url_mistakes
from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data.text import java_text
from penstock.connect.errors import ConfigError, DataError, RetriableError

_HIGH, _MEDIUM, _LOW, _TEXT = Importance.HIGH, Importance.MEDIUM, Importance.LOW, Kind.STRING
_PLAIN: Final = JsonConverter({"schemas.enable": "false", "decimal.format": "NUMERIC"})
log = logging.getLogger(__name__)
CONFIG: Final = (
    ConfigDef()
    .define(
        "http.api.url", _TEXT, importance=_HIGH, validator=non_empty,
        doc="The address. ${topic}, ${key} and fields such as ${user.id} are filled in.",
    )
    .define(
        "request.method", _TEXT, "POST", importance=_HIGH,
        validator=one_of("POST", "PUT", "PATCH", "DELETE", ignore_case=True), doc="The method.",
    )
    .define(
        "headers", Kind.PASSWORD, "", importance=_HIGH,
        doc="NAME:VALUE, with header.separator between. Not shown: there may be a key in it.",
    )
    .define("header.separator", _TEXT, "|", importance=_LOW, validator=non_empty, doc="Between headers.")
    .define(
        "request.body.format", _TEXT, "string", importance=_MEDIUM, validator=one_of("string", "json"),
        doc="string: the text of the value. json: JSON without a schema.",
    )
    .define(
        "batch.max.size", Kind.INT, 1, importance=_MEDIUM, validator=at_least(1),
        doc="The most records of one request. They have one address.",
    )
    .define("batch.prefix", _TEXT, "", importance=_LOW, doc="Before the records of a batch.")
    .define("batch.suffix", _TEXT, "", importance=_LOW, doc="After the records of a batch.")
    .define("batch.separator", _TEXT, ",", importance=_LOW, doc="Between the records of a batch.")
    .define(
        "batch.json.as.array", Kind.BOOLEAN, False, importance=_LOW, doc="Whether a batch is a JSON array.",
    )
    .define(
        "behavior.on.null.values", _TEXT, "ignore", importance=_LOW,
        validator=one_of("ignore", "delete", "fail"),
        doc="A record without a value: left out, a DELETE request, or an error.",
    )
    .define(
        "behavior.on.error", _TEXT, "fail", importance=_LOW, validator=one_of("fail", "ignore"),
        doc="fail: errors.tolerance decides about records that are refused. ignore: they are logged.",
    )
    .plus(KEYS)
)  # fmt: skip
UNSUPPORTED: Final = {
    "regex.": "Use transforms.",
    "batch.key.pattern": "Records of one address are sent together.",
    "reporter.": "Use errors.tolerance and errors.deadletterqueue.topic.name.",
    "report.errors.as": "",
    "sensitive.headers": "",
    "headers.": "",
}


class HttpSinkTask(SinkTask):
    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        given = self._given = CONFIG.parse(config)
        headers = header_lines("headers", given["headers"], given["header.separator"])
        if given["request.body.format"] == "json" and not any(n.lower() == "content-type" for n in headers):
            headers["Content-Type"] = "application/json"
        self._requests = Requests(given, headers)
        self._done = 0
        """Records of this `put` that were answered: an attempt after a passing error begins there."""
        self._putting: Sequence[ConnectRecord] = ()
        self._refusals: dict[int, tuple[ConnectRecord, Exception]] = {}

    def put(self, records: Sequence[ConnectRecord]) -> None:
        if records is not self._putting:
            self._putting, self._done, self._refusals = records, 0, {}
        for method, url, group in self._groups(records[self._done :]):
            if method:
                self._send(method, url, group)
            self._done += len(group)
        for record, error in self._refusals.values():
            self.reject(record, error)

    def _groups(self, records: Sequence[ConnectRecord]) -> Iterator[tuple[str, str, list[ConnectRecord]]]:
        """Records that follow each other and go to one address. No method: there is nothing to send."""
        current: tuple[str, str] | None = None
        group: list[ConnectRecord] = []
        for record in records:
            target = self._target(record)
            alone = target[0] in ("", "DELETE") or len(group) >= self._given["batch.max.size"]
            if group and (alone or target != current):
                assert current is not None
                yield *current, group
                group = []
            current = target
            group.append(record)
        if group and current is not None:
            yield *current, group

    def _target(self, record: ConnectRecord) -> tuple[str, str]:
        nulls = self._given["behavior.on.null.values"]
        if record.value is None and nulls == "ignore":
            return "", ""
        try:
            if record.value is None and nulls == "fail":
                raise DataError("the record has no value (behavior.on.null.values=fail)")
            method = "DELETE" if record.value is None else self._given["request.method"].upper()
            return method, record_url(self._given["http.api.url"], record)
        except DataError as error:
            self._refused([record], error)
            return "", ""

    def _send(self, method: str, url: str, group: list[ConnectRecord]) -> None:
        try:
            body = None if method == "DELETE" else self._body(group)
            self._requests.send(method, url, body)
        except StatusError as error:
            busy = error.status >= 500 or error.status == 429  # the server's fault, not the records'
            if busy and self._given["behavior.on.error"] == "fail":
                raise RetriableError(str(error)) from error
            self._refused(group, error)
        except RetriableError as error:
            if self._given["behavior.on.error"] == "fail":
                raise
            self._refused(group, error)

    def _refused(self, group: list[ConnectRecord], error: Exception) -> None:
        if self._given["behavior.on.error"] == "ignore":
            log.warning("%d records are left out (behavior.on.error=ignore): %s", len(group), error)
            return
        self._refusals |= {id(record): (record, error) for record in group}

    def _body(self, group: list[ConnectRecord]) -> bytes:
        parts = [self._text(each) for each in group]
        if self._given["batch.json.as.array"]:
            return b"[" + b",".join(parts) + b"]"
        if self._given["batch.max.size"] == 1:
            return parts[0]
        joined = self._given["batch.separator"].encode().join(parts)
        return bytes(self._given["batch.prefix"].encode() + joined + self._given["batch.suffix"].encode())

    def _text(self, record: ConnectRecord) -> bytes:
        if self._given["request.body.format"] == "json":
            return _PLAIN.from_connect(record.value_schema, record.value) or b"null"
        return record.value if isinstance(record.value, bytes) else java_text(record.value).encode()

    def close(self) -> None:
        self._requests.close()


class HttpSink(SinkConnector):
    NAMES: ClassVar = ("io.confluent.connect.http.HttpSinkConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = HttpSinkTask
    TASK_NAME: ClassVar = "io.confluent.connect.http.HttpSinkTask"
    GUARANTEE: ClassVar = "at least once: a request whose answer was lost is sent again"

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        found = client_mistakes(config, UNSUPPORTED)
        found += url_mistakes("http.api.url", str(config.get("http.api.url") or ""))
        try:
            header_lines("headers", config.get("headers") or "", config.get("header.separator") or "|")
        except ConfigError as error:
            found.append(("headers", str(error)))
        return found
