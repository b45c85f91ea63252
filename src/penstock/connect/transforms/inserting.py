"""InsertField: the record's topic, partition, offset, timestamp or a fixed text as fields."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from penstock.connect.data import schema as s
from penstock.connect.data.dates import from_millis
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Schema, unique
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConfigError
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.transform import Side, basics, field_value, need_map, need_struct

PURPOSE: Final = "field insertion"


class _Insertion(NamedTuple):
    name: str
    optional: bool

    @classmethod
    def parse(cls, text: str | None) -> _Insertion | None:
        """`name!` must have a value, `name?` and `name` may be null."""
        if text is None:
            return None
        if text.endswith(("?", "!")):
            return cls(text[:-1], text.endswith("?"))
        return cls(text, True)

    def schema(self, plain: Schema) -> Schema:
        return plain.as_optional() if self.optional else plain


class InsertField:
    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._topic = _Insertion.parse(settings.text("topic.field"))
        self._partition = _Insertion.parse(settings.text("partition.field"))
        self._offset = _Insertion.parse(settings.text("offset.field"))
        self._timestamp = _Insertion.parse(settings.text("timestamp.field"))
        self._static = _Insertion.parse(settings.text("static.field"))
        self._static_value = settings.text("static.value")
        self._replaces_null = settings.flag("replace.null.with.default", True)
        if not any((self._topic, self._partition, self._offset, self._timestamp, self._static)):
            raise ConfigError(PURPOSE, None, "No field insertion configured")
        if self._static is not None and self._static_value is None:
            raise ConfigError("static.value", None, f"No value specified for static field: {self._static}")

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if value is None:
            return record
        inserted = self._inserted(record)
        if schema is None:
            plain = {name: each for name, (_, each) in inserted.items()}
            if self._timestamp is not None and record.timestamp is not None:
                plain[self._timestamp.name] = record.timestamp
            return self._side.changed(record, None, {**need_map(value, PURPOSE), **plain})
        struct = need_struct(value, PURPOSE)
        fields = {each.name: each.schema for each in schema.fields}
        changed = basics(schema).with_fields(unique([*fields.items(), *self._schemas()]))
        values = {name: field_value(struct, name, self._replaces_null) for name in fields}
        return self._side.changed(
            record,
            changed,
            Struct(changed, {**values, **{name: each for name, (_, each) in inserted.items()}}),
        )

    def _schemas(self) -> list[tuple[str, Schema]]:
        """Every field that is asked for, in Kafka's order, also those that this record has no value for."""
        wanted = (
            (self._topic, s.STRING),
            (self._partition, s.INT32),
            (self._offset, s.INT64),
            (self._timestamp, s.TIMESTAMP),
            (self._static, s.STRING),
        )
        return [(each.name, each.schema(plain)) for each, plain in wanted if each is not None]

    def _inserted(self, record: ConnectRecord) -> dict[str, tuple[_Insertion, Any]]:
        moment = None if record.timestamp is None else from_millis(record.timestamp)
        candidates = (
            (self._topic, record.topic),
            (self._partition, record.partition),
            (self._offset, record.offset),
            (self._timestamp, moment),
            (self._static, self._static_value),
        )
        return {
            each.name: (each, value) for each, value in candidates if each is not None and value is not None
        }
