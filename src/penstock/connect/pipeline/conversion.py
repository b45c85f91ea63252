"""Records to bytes and back, with the transforms of the connector between.

A source's record passes the transforms and then the converters; a sink's record the other way round. Each
step is tried as the connector's settings say, and a record that fails is reported with the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.connect.api.source import JsonForms
from penstock.connect.config.validation import Defaults, make_converter
from penstock.connect.converters.plain import StringConverter
from penstock.connect.converters.table import JsonBytes
from penstock.connect.data.record import ConnectRecord, Header
from penstock.connect.pipeline.rows import Row
from penstock.connect.pipeline.tolerance import Stage, Tolerance
from penstock.connect.transforms.chain import TransformChain

_CHAIN: Final = "transforms"


class Conversion:
    """For one task, in one thread."""

    def __init__(self, config: Mapping[str, str], defaults: Defaults, tolerance: Tolerance) -> None:
        self._key = make_converter("key", config, defaults)
        self._value = make_converter("value", config, defaults)
        self._header = make_converter("header", config, defaults)
        self._chain = TransformChain.of(config)
        self._tolerance = tolerance
        self._names = {
            side: config.get(f"{side}.converter") or getattr(defaults, f"{side}_converter")
            for side in ("key", "value", "header")
        }

    @property
    def keeps_text(self) -> bool:
        """Whether text without a key becomes its own bytes in UTF-8."""
        return not self._chain.steps and isinstance(self._value, StringConverter) and self._value.is_utf8

    @property
    def json_forms(self) -> JsonForms | None:
        """The converters, if all they do is to write JSON of what a source has read."""
        if (
            self._chain.steps
            or not isinstance(self._key, JsonBytes)
            or not isinstance(self._value, JsonBytes)
        ):
            return None
        return JsonForms(self._key.json, self._value.json)

    def outward(self, record: ConnectRecord) -> Row | None:
        """A source's record as bytes; None if a transform drops it, RecordFailed if a step fails."""
        done = self._transformed(record)
        if done is None:
            return None
        key = None
        if done.key is not None or done.key_schema is not None:
            key = self._step(
                Stage.KEY_CONVERTER, "key", self._key.from_connect, done.topic, done.key_schema, done.key
            )
        value = self._step(
            Stage.VALUE_CONVERTER,
            "value",
            self._value.from_connect,
            done.topic,
            done.value_schema,
            done.value,
        )
        headers = tuple((each.key, self._header_bytes(done.topic, each)) for each in done.headers)
        return Row(done.topic, done.partition, key, value, headers, done.timestamp)

    def inward(self, row: Row) -> ConnectRecord | None:
        """A sink's record from bytes; None if a transform drops it, RecordFailed if a step fails."""
        key = self._step(Stage.KEY_CONVERTER, "key", self._key.to_connect, row.topic, row.key)
        value = self._step(Stage.VALUE_CONVERTER, "value", self._value.to_connect, row.topic, row.value)
        headers = tuple(self._header_value(row.topic, *each) for each in row.headers)
        record = ConnectRecord(
            row.topic, row.partition, key.value, key.schema, value.value, value.schema, row.timestamp_ms,
            headers, row.offset,
        )  # fmt: skip
        return self._transformed(record)

    def _transformed(self, record: ConnectRecord) -> ConnectRecord | None:
        if not self._chain.steps:
            return record
        return self._tolerance.attempt(Stage.TRANSFORMATION, _CHAIN, lambda: self._chain.apply(record))

    def _header_bytes(self, topic: str, header: Header) -> Any:
        return self._step(
            Stage.HEADER_CONVERTER, "header", self._header.from_header, topic, header.key, header.schema,
            header.value,
        )  # fmt: skip

    def _header_value(self, topic: str, name: str, data: bytes | None) -> Header:
        found = self._step(Stage.HEADER_CONVERTER, "header", self._header.to_header, topic, name, data)
        return Header(name, found.value, found.schema)

    def _step(self, stage: Stage, side: str, operation: Any, *arguments: Any) -> Any:
        return self._tolerance.attempt(stage, self._names[side], lambda: operation(*arguments))
