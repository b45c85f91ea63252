"""WITH (…): which properties there are, and their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from penstock.plan.row_schemas import Format
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.errors import SqlError
from penstock.sql.formats import rules_of

BOTH: Final = frozenset(
    {
        "KAFKA_TOPIC",
        "PARTITIONS",
        "REPLICAS",
        "RETENTION_MS",
        "FORMAT",
        "KEY_FORMAT",
        "VALUE_FORMAT",
        "TIMESTAMP",
        "TIMESTAMP_FORMAT",
        "KEY_DELIMITER",
        "VALUE_DELIMITER",
        "KEY_SCHEMA_ID",
        "VALUE_SCHEMA_ID",
        "KEY_SCHEMA_FULL_NAME",
        "VALUE_SCHEMA_FULL_NAME",
        "VALUE_AVRO_SCHEMA_FULL_NAME",
        "WRAP_SINGLE_VALUE",
        "KEY_PROTOBUF_NULLABLE_REPRESENTATION",
        "VALUE_PROTOBUF_NULLABLE_REPRESENTATION",
    }
)
AS_SELECT: Final = BOTH | {"TTL"}
CREATE: Final = BOTH | {"WINDOW_TYPE", "WINDOW_SIZE", "SOURCED_BY_CONNECTOR"}
_DURATION: Final = re.compile(r"\s*([0-9]+)\s+([A-Za-z]+)\s*")
_NAMED_SCHEMAS: Final = ("AVRO", "JSON_SR", "PROTOBUF")
_DELIMITERS: Final = {"SPACE": " ", "TAB": "\t"}


class Properties:
    """The properties of one statement, each with its place."""

    def __init__(
        self, given: Sequence[s.Property], known: frozenset[str], at: x.Position, *, wraps: bool = True
    ) -> None:
        """`wraps`: whether a single value stands in a record where the statement does not say."""
        self.at, self._wraps = at, wraps
        self._by_name: dict[str, s.Property] = {}
        unknown = [p for p in given if p.name.upper() not in known]
        if unknown:
            names = ", ".join(sorted(p.name for p in unknown))
            raise SqlError(f"Invalid config variable(s) in the WITH clause: {names}", *unknown[0].at)
        for entry in given:
            if entry.name.upper() in self._by_name:
                raise SqlError(f"{entry.name} is given twice in the WITH clause: drop one", *entry.at)
            self._by_name[entry.name.upper()] = entry

    def has(self, name: str) -> bool:
        return name in self._by_name

    def place(self, name: str) -> x.Position:
        return self._by_name[name].at if name in self._by_name else self.at

    def text(self, name: str) -> str | None:
        entry = self._by_name.get(name)
        if entry is None:
            return None
        if not isinstance(entry.value, x.StringLiteral):
            raise SqlError(f"Invalid value for property {name}: it must be a string in '…'", *entry.at)
        return entry.value.value

    def number(self, name: str, least: int = 1) -> int | None:
        entry = self._by_name.get(name)
        if entry is None:
            return None
        value = entry.value
        if isinstance(value, x.StringLiteral) and re.fullmatch(r"-?[0-9]{1,18}", value.value):
            found = int(value.value)
        elif isinstance(value, x.IntegerLiteral):
            found = value.value
        else:
            raise SqlError(f"Invalid value for property {name}: it must be a whole number", *entry.at)
        if found < least:
            raise SqlError(
                f"Invalid value {found} for property {name}: it must be at least {least}", *entry.at
            )
        return found

    def boolean(self, name: str) -> bool | None:
        entry = self._by_name.get(name)
        if entry is None:
            return None
        value = entry.value
        if isinstance(value, x.BooleanLiteral):
            return value.value
        if isinstance(value, x.StringLiteral) and value.value.lower() in ("true", "false"):
            return value.value.lower() == "true"
        raise SqlError(f"Invalid value for property {name}: it must be true or false", *entry.at)

    def duration_ms(self, name: str) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        found = _DURATION.fullmatch(text)
        unit = found[2].upper().removesuffix("S") if found else ""
        if found is None or unit not in s.UNITS:
            raise SqlError(f"Invalid duration: '{text}'. Write it as '10 SECONDS'", *self.place(name))
        return int(found[1]) * s.UNITS[unit]

    def formats(self, default_key: str | None, default_value: str | None) -> tuple[str, str]:
        """Names of the key's and the value's format."""
        both = self.text("FORMAT")
        for name in ("KEY_FORMAT", "VALUE_FORMAT"):
            if both is not None and name in self._by_name:
                raise SqlError(
                    f"Cannot supply both '{name}' and 'FORMAT' properties, as 'FORMAT' sets both key and "
                    "value formats. Drop one of them",
                    *self.place(name),
                )
        key, value = self.text("KEY_FORMAT") or both or default_key, self.text("VALUE_FORMAT") or both
        value = value or default_value
        for name, found in (("KEY_FORMAT", key), ("VALUE_FORMAT", value)):
            if found is None:
                raise SqlError(
                    f"Statement is missing the '{name}' property from the WITH clause. Either provide one or "
                    f"set a default via the 'ksql.persistence.default.format.{name[:-7].lower()}' config.",
                    *self.at,
                )
        assert key is not None
        assert value is not None
        return key.upper(), value.upper()

    def format(self, side: str, name: str, columns: int) -> Format:
        """A format with its properties; `side` is KEY or VALUE."""
        where = self.place(f"{side}_FORMAT" if f"{side}_FORMAT" in self._by_name else "FORMAT")
        rules = rules_of(name, where)
        wrap = self.boolean("WRAP_SINGLE_VALUE") if side == "VALUE" else False
        if side == "VALUE" and wrap is not None:
            place = self.place("WRAP_SINGLE_VALUE")
            if columns != 1:
                raise SqlError("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas", *place)
            if (wrap and not rules.wraps) or (not wrap and not rules.unwraps):
                raise SqlError(
                    f"Format '{name}' does not support 'WRAP_SINGLE_VALUE' set to '{str(wrap).lower()}'.",
                    *place,
                )
        if wrap is None and rules.unwraps:
            wrap = self._wraps
        wrapped = (
            columns != 1 or (rules.wraps and (wrap is None or wrap)) if side == "VALUE" else columns != 1
        )
        return Format(name, tuple(sorted(self._format_properties(side, name))), wrapped)

    def _format_properties(self, side: str, name: str) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        delimiter = self.text(f"{side}_DELIMITER")
        if delimiter is not None:
            if name != "DELIMITED":
                raise SqlError(
                    f"{name} does not support the following configs: [delimiter]",
                    *self.place(f"{side}_DELIMITER"),
                )
            found.append(("delimiter", self._delimiter(side, delimiter)))
        if self.has(f"{side}_SCHEMA_ID"):
            if not rules_of(name, self.at).infers_schemas:
                raise SqlError(
                    f"{side}_FORMAT should support schema inference when {side}_SCHEMA_ID is provided. "
                    f"Current format is {name}.",
                    *self.place(f"{side}_SCHEMA_ID"),
                )
            found.append(("schema_id", str(self.number(f"{side}_SCHEMA_ID"))))
        full_name = self._full_name(side, name)
        if full_name is not None:
            found.append(("schema_full_name", full_name))
        nulls = self.text(f"{side}_PROTOBUF_NULLABLE_REPRESENTATION")
        if nulls is not None:
            found.append(("protobuf_nullable_representation", nulls))
        return found

    def _full_name(self, side: str, name: str) -> str | None:
        """The name of the record in a schema; the older spelling is for values alone."""
        keys = [f"{side}_SCHEMA_FULL_NAME", f"{side}_AVRO_SCHEMA_FULL_NAME"]
        key = next((key for key in keys if self.has(key)), None)
        if key is None:
            return None
        text = self.text(key) or ""
        if name not in _NAMED_SCHEMAS:
            raise SqlError(
                f"{name} does not support the following configs: [fullSchemaName]", *self.place(key)
            )
        if not text.strip():
            raise SqlError(
                "fullSchemaName cannot be empty. Format configuration: {fullSchemaName=" + text + "}",
                *self.place(key),
            )
        return text.strip()

    def _delimiter(self, side: str, text: str) -> str:
        if not text:
            raise SqlError(
                "Delimiter cannot be empty, if you meant to have a tab or space for delimiter, please use "
                "the special values 'TAB' or 'SPACE'\nExample valid value: ';'",
                *self.place(f"{side}_DELIMITER"),
            )
        if text.upper() in _DELIMITERS:
            return _DELIMITERS[text.upper()]
        if len(text) != 1:
            raise SqlError(
                f"Invalid delimiter value: '{text}'. Delimiter must be a single character or TAB,SPACE",
                *self.place(f"{side}_DELIMITER"),
            )
        return text
