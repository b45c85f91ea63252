"""Kafka Connect's JsonConverter: JSON with an envelope of schema and payload, or plain JSON.

Settings: `schemas.enable` (true), `decimal.format` (BASE64 or NUMERIC), `replace.null.with.default` (true).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

from penstock.connect.converters.converter import SchemaAndValue
from penstock.connect.converters.json_readers import Envelopes, reader
from penstock.connect.converters.json_schema_form import schema_from_json, schema_to_json
from penstock.connect.converters.json_text import json_text
from penstock.connect.converters.json_writers import JsonWriters, Write
from penstock.connect.data import schema as s
from penstock.connect.data.dates import DAY_MS, from_days, from_millis, to_millis
from penstock.connect.data.schema import INTEGER_BITS, Schema, Type
from penstock.connect.data.struct import Float32, Struct
from penstock.connect.errors import ConfigError, DataError

ENVELOPE: Final = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain '
    "additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in your "
    "converter configuration."
)


class JsonConverter:
    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        given = settings or {}
        self._schemas = _flag(given, "schemas.enable")
        self._defaults = _flag(given, "replace.null.with.default")
        form = str(given.get("decimal.format", "BASE64")).upper()
        if form not in ("BASE64", "NUMERIC"):
            raise ConfigError(
                "decimal.format", given["decimal.format"], "String must be one of: BASE64, NUMERIC"
            )
        self._numeric = form == "NUMERIC"
        self._writers = JsonWriters(self.value_to_json)
        self._envelopes = Envelopes()
        self._beginning: tuple[Schema | None, str] = (None, "")

    def to_connect(self, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        if self._schemas and (known := self._envelopes.read(data)) is not None:
            return SchemaAndValue(*known)
        try:
            node = json.loads(data)
        except ValueError as error:
            raise DataError(
                f"Converting byte[] to Kafka Connect data failed due to serialization error: {error}"
            ) from error
        if not self._schemas:
            return SchemaAndValue(None, self.value_from_json(None, node))
        if not isinstance(node, dict) or node.keys() != {"schema", "payload"}:
            raise DataError(ENVELOPE)
        schema = schema_from_json(node["schema"], self.value_from_json)
        read = partial(self.value_from_json, None) if schema is None else reader(schema, self.value_from_json)
        self._envelopes.learn(data, node["schema"], schema, read)
        return SchemaAndValue(schema, read(node["payload"]))

    def from_connect(self, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        if schema is None:
            payload = json_text(self.value_to_json(None, value))
        else:
            payload = self._writers.of(schema)(value)
        if not self._schemas:
            return payload.encode()
        return f'{{"schema":{self._schema_text(schema)},"payload":{payload}}}'.encode()

    def around(self, schema: Schema) -> tuple[str, str]:
        """What stands before and behind the JSON of a value."""
        return (f'{{"schema":{self._schema_text(schema)},"payload":', "}") if self._schemas else ("", "")

    def writer(self, schema: Schema) -> Write:
        """The JSON of a value, without what stands around it."""
        return self._writers.of(schema)

    @property
    def decimals_are_base64(self) -> bool:
        return not self._numeric

    def _schema_text(self, schema: Schema | None) -> str:
        """Most records have the schema of the one before."""
        if schema is None:
            return "null"
        if self._beginning[0] is not schema:
            self._beginning = (schema, json_text(schema_to_json(schema, self.value_to_json)))
        return self._beginning[1]

    def value_from_json(self, schema: Schema | None, node: Any) -> Any:
        if schema is None:
            return _plain(node)
        if node is None:
            if schema.has_default and self._defaults:
                return schema.default
            if schema.optional:
                return None
            raise DataError(f"Invalid null value for required {schema.type.name} field")
        value = self._typed(schema, node)
        return _to_logical(schema, value) if schema.name in s.LOGICAL_NAMES else value

    def value_to_json(self, schema: Schema | None, value: Any) -> Any:
        if value is None:
            if schema is None:
                return None
            if schema.has_default and schema.default is not None and self._defaults:
                return self.value_to_json(schema, schema.default)
            if schema.optional:
                return None
            raise DataError(
                "Conversion error: null value for field that is required and has no default value"
            )
        if schema is None:
            return self._untyped(value)
        if schema.name in s.LOGICAL_NAMES:
            return self._from_logical(schema, value)
        match schema.type:
            case Type.STRUCT:
                return {
                    each.name: self.value_to_json(each.schema, self._field(value, each.name))
                    for each in schema.fields
                }
            case Type.ARRAY:
                return [self.value_to_json(schema.value_schema, each) for each in value]
            case Type.MAP:
                assert schema.key_schema is not None
                pairs = [
                    (
                        self.value_to_json(schema.key_schema, key),
                        self.value_to_json(schema.value_schema, each),
                    )
                    for key, each in value.items()
                ]
                as_object = schema.key_schema.type is Type.STRING and not schema.key_schema.optional
                return dict(pairs) if as_object else [list(pair) for pair in pairs]
            case _:
                return _primitive(schema.type, value)

    def _field(self, value: Struct, name: str) -> Any:
        return value.get(name) if self._defaults else value.get_without_default(name)

    def _typed(self, schema: Schema, node: Any) -> Any:
        match schema.type:
            case Type.STRUCT:
                if not isinstance(node, dict):
                    raise DataError(f"Structs should be encoded as JSON objects, but found {_kind(node)}")
                return Struct(
                    schema,
                    {
                        each.name: self.value_from_json(each.schema, node.get(each.name))
                        for each in schema.fields
                    },
                )
            case Type.ARRAY:
                if not isinstance(node, list):
                    raise DataError(f"Invalid JSON: expected an array, found {_kind(node)}")
                return [self.value_from_json(schema.value_schema, each) for each in node]
            case Type.MAP:
                return self._map(schema, node)
            case Type.STRING:
                if not isinstance(node, str):
                    raise DataError(f"Invalid JSON: expected a string, found {_kind(node)}")
                return node
            case Type.BOOLEAN:
                return bool(node)
            case Type.BYTES:
                if schema.name == s.DECIMAL_NAME and isinstance(node, (int, float, Decimal)):
                    return node
                return _bytes(node)
            case Type.FLOAT32:
                return Float32(float(node))
            case Type.FLOAT64:
                return float(node)
            case _:
                return _wrapped(int(node), INTEGER_BITS[schema.type])

    def _map(self, schema: Schema, node: Any) -> dict[Any, Any]:
        assert schema.key_schema is not None
        if isinstance(node, dict):
            return {key: self.value_from_json(schema.value_schema, each) for key, each in node.items()}
        if not isinstance(node, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in node):
            raise DataError("Maps with non-string fields should be encoded as JSON array of pairs")
        return {
            self.value_from_json(schema.key_schema, key): self.value_from_json(schema.value_schema, each)
            for key, each in node
        }

    def _from_logical(self, schema: Schema, value: Any) -> Any:
        if schema.name == s.DECIMAL_NAME:
            if not isinstance(value, Decimal):
                raise DataError(
                    f"Invalid type for Decimal, expected BigDecimal but was {type(value).__name__}"
                )
            return value if self._numeric else base64.b64encode(decimal_bytes(schema, value)).decode()
        if not isinstance(value, datetime):
            raise DataError(f"Invalid type for {schema.name}, expected Date but was {type(value).__name__}")
        millis = to_millis(value)
        return millis // DAY_MS if schema.name == s.DATE_NAME else millis

    def _untyped(self, value: Any) -> Any:
        match value:
            case Struct():
                return self.value_to_json(value.schema, value)
            case list():
                return [self._untyped(each) for each in value]
            case dict():
                if all(isinstance(key, str) for key in value):
                    return {key: self._untyped(each) for key, each in value.items()}
                return [[self._untyped(key), self._untyped(each)] for key, each in value.items()]
            case bytes():
                return base64.b64encode(value).decode()
            case datetime():
                raise DataError(
                    "A date without a schema has no form in JSON. Convert it to text or a number."
                )
            case _:
                return value


_PYTHON: Final[dict[Type, tuple[type, ...]]] = {
    **dict.fromkeys(INTEGER_BITS, (int,)),
    Type.FLOAT32: (float, int),
    Type.FLOAT64: (float, int),
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.BYTES: (bytes,),
}


def _primitive(kind: Type, value: Any) -> Any:
    fits: bool = isinstance(value, _PYTHON[kind])
    if not fits or (isinstance(value, bool) and kind is not Type.BOOLEAN):
        raise DataError(f"Invalid type for {kind.name}: {type(value).__name__}")
    if kind is Type.BYTES:
        return base64.b64encode(value).decode()
    if kind is Type.FLOAT32:
        return Float32(value)
    return float(value) if kind is Type.FLOAT64 else value


def decimal_bytes(schema: Schema, value: Decimal) -> bytes:
    """The unscaled number, two's complement, as few bytes as it takes."""
    scale = s.decimal_scale(schema)
    if -int(value.as_tuple().exponent) != scale:
        raise DataError("Decimal value has mismatching scale for given Decimal.schema")
    sign, digits, _ = value.as_tuple()  # arithmetic on decimals would round to 28 digits
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    return unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)


def _to_logical(schema: Schema, value: Any) -> Any:
    if schema.name == s.DATE_NAME:
        return from_days(value)
    if schema.name in (s.TIME_NAME, s.TIMESTAMP_NAME):
        return from_millis(value)
    scale = s.decimal_scale(schema)
    if isinstance(value, bytes):
        unscaled = int.from_bytes(value, "big", signed=True)
        return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-scale))


def _plain(node: Any) -> Any:
    match node:
        case bool() | str() | None:
            return node
        case int():
            return _wrapped(node, 64)
        case float():
            return node
        case list():
            return [_plain(each) for each in node]
        case dict():
            return {key: _plain(each) for key, each in node.items()}
    return node


def _wrapped(number: int, bits: int) -> int:
    """Java keeps the low bits of a number that is too large."""
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _bytes(node: Any) -> bytes:
    try:
        return base64.b64decode(node, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise DataError(f"Invalid bytes field: {error}") from error


def _kind(node: Any) -> str:
    names = {dict: "OBJECT", list: "ARRAY", str: "STRING", bool: "BOOLEAN", int: "NUMBER", float: "NUMBER"}
    return names.get(type(node), "NULL")


def _flag(settings: Mapping[str, Any], name: str) -> bool:
    text = str(settings.get(name, True)).lower()
    if text not in ("true", "false"):
        raise ConfigError(name, settings[name], "Expected value to be either true or false")
    return text == "true"
