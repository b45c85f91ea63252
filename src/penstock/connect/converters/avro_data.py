"""Connect's schemas and values as Avro, in the form that Confluent's AvroConverter documents.

What Avro has no word for stands in properties of the schema: `connect.type`, `connect.name`,
`connect.version`, `connect.doc`, `connect.parameters`, `connect.default`. Pure; the registry is
`converters.registry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from penstock.connect.converters.json_converter import decimal_bytes
from penstock.connect.data import schema as s
from penstock.connect.data.dates import DAY_MS, from_days, from_millis, to_millis
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Float32, Struct
from penstock.connect.errors import DataError

NAMESPACE: Final = "io.confluent.connect.avro"
_SIMPLE: Final = {
    Type.INT8: "int", Type.INT16: "int", Type.INT32: "int", Type.INT64: "long", Type.FLOAT32: "float",
    Type.FLOAT64: "double", Type.BOOLEAN: "boolean", Type.STRING: "string", Type.BYTES: "bytes",
}  # fmt: skip
_FROM_AVRO: Final = {
    "int": Type.INT32, "long": Type.INT64, "float": Type.FLOAT32, "double": Type.FLOAT64,
    "boolean": Type.BOOLEAN, "string": Type.STRING, "bytes": Type.BYTES, "fixed": Type.BYTES,
    "enum": Type.STRING,
}  # fmt: skip
_LOGICAL: Final = {
    s.DECIMAL_NAME: "decimal", s.DATE_NAME: "date", s.TIME_NAME: "time-millis",
    s.TIMESTAMP_NAME: "timestamp-millis",
}  # fmt: skip
_NAMES: Final = {"date": s.DATE_NAME, "time-millis": s.TIME_NAME, "timestamp-millis": s.TIMESTAMP_NAME}


def avro_schema(schema: Schema, names: set[str] | None = None) -> Any:
    """The schema as JSON. A record that occurs again is written by its name."""
    names = set() if names is None else names
    plain = _described(schema, _shape(schema, names))
    if not schema.optional:
        return plain
    if schema.has_default and schema.default is not None:
        return [plain, "null"]
    return ["null", plain]


def _shape(schema: Schema, names: set[str]) -> Any:
    match schema.type:
        case Type.ARRAY:
            assert schema.value_schema is not None
            return {"type": "array", "items": avro_schema(schema.value_schema, names)}
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            if _string_keys(schema):
                return {"type": "map", "values": avro_schema(schema.value_schema, names)}
            fields = [
                {"name": "key", "type": avro_schema(schema.key_schema, names)},
                {"name": "value", "type": avro_schema(schema.value_schema, names)},
            ]
            entry = {"type": "record", "name": "MapEntry", "namespace": NAMESPACE, "fields": fields}
            return {"type": "array", "items": entry}
        case Type.STRUCT:
            return _record(schema, names)
        case kind:
            return {"type": _SIMPLE[kind]}


def _record(schema: Schema, names: set[str]) -> Any:
    full = schema.name or f"{NAMESPACE}.ConnectDefault"
    if full in names:
        return full
    names.add(full)
    namespace, _, name = full.rpartition(".")
    fields = []
    for each in schema.fields:
        field: dict[str, Any] = {"name": each.name, "type": avro_schema(each.schema, names)}
        if each.schema.has_default and each.schema.default is not None:
            field["default"] = _default(each.schema)
        elif each.schema.optional:
            field["default"] = None
        fields.append(field)
    record: dict[str, Any] = {"type": "record", "name": name}
    if namespace:
        record["namespace"] = namespace
    if schema.doc is not None:
        record["doc"] = schema.doc
    return record | {"fields": fields}


def _default(schema: Schema) -> Any:
    value = to_avro(replace(schema, optional=False), schema.default)
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _described(schema: Schema, shape: Any) -> Any:
    if isinstance(shape, str):
        return shape
    if schema.type in (Type.INT8, Type.INT16):
        shape["connect.type"] = schema.type.value
    if schema.version is not None:
        shape["connect.version"] = schema.version
    if schema.parameters:
        shape["connect.parameters"] = dict(schema.parameters)
    if schema.doc is not None and schema.type is not Type.STRUCT:
        shape["connect.doc"] = schema.doc
    if schema.name is not None:
        shape["connect.name"] = schema.name
        if schema.name in _LOGICAL:
            shape["logicalType"] = _LOGICAL[schema.name]
        if schema.name == s.DECIMAL_NAME:
            shape |= {"scale": s.decimal_scale(schema), "precision": 64}
    return shape["type"] if shape.keys() == {"type"} and isinstance(shape["type"], str) else shape


def to_avro(schema: Schema, value: Any) -> Any:
    """A value for fastavro, which knows no logical types here."""
    if value is None:
        if schema.has_default:
            value = schema.default
        if value is None:
            if schema.optional:
                return None
            raise DataError("Invalid null value for a field that is required and has no default value")
    if schema.name == s.DECIMAL_NAME:
        if not isinstance(value, Decimal):
            raise DataError(f"Invalid type for Decimal, expected BigDecimal but was {type(value).__name__}")
        return decimal_bytes(schema, value)
    if schema.name in _LOGICAL:
        if not isinstance(value, datetime):
            raise DataError(f"Invalid type for {schema.name}, expected Date but was {type(value).__name__}")
        millis = to_millis(value)
        return millis // DAY_MS if schema.name == s.DATE_NAME else millis
    match schema.type:
        case Type.STRUCT:
            return {each.name: to_avro(each.schema, value.get(each.name)) for each in schema.fields}
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [to_avro(schema.value_schema, each) for each in value]
        case Type.MAP:
            key, part = schema.key_schema, schema.value_schema
            assert key is not None
            assert part is not None
            if _string_keys(schema):
                return {name: to_avro(part, each) for name, each in value.items()}
            return [{"key": to_avro(key, k), "value": to_avro(part, v)} for k, v in value.items()]
        case _:
            return value


def connect_schema(avro: Any, known: dict[str, Any] | None = None) -> Schema:
    """The Connect schema of an Avro schema given as parsed JSON."""
    known = {} if known is None else known
    if isinstance(avro, list):
        others = [each for each in avro if each != "null"]
        if len(others) == 1:
            inner = connect_schema(others[0], known)
            return inner if len(others) == len(avro) else inner.as_optional()
        fields = {_branch(each): connect_schema(each, known).as_optional() for each in others}
        union = s.struct_schema(fields, name="io.confluent.connect.avro.Union")
        return union if len(others) == len(avro) else union.as_optional()
    if isinstance(avro, str):
        return connect_schema(known[avro], known) if avro in known else Schema(_FROM_AVRO[avro])
    kind = avro["type"]
    if isinstance(kind, (dict, list)):
        return connect_schema(kind, known)
    if "name" in avro and kind in ("record", "enum", "fixed"):
        known[full_name(avro)] = known[avro["name"]] = avro
    return _annotated(avro, _plain_schema(avro, kind, known))


def _plain_schema(avro: Mapping[str, Any], kind: str, known: dict[str, Any]) -> Schema:
    if kind == "record":
        fields = {each["name"]: _field_schema(each, known) for each in avro["fields"]}
        return s.struct_schema(fields, name=avro.get("connect.name") or full_name(avro), doc=avro.get("doc"))
    if kind == "array":
        items = avro["items"]
        if isinstance(items, Mapping) and items.get("name") == "MapEntry":
            entry = connect_schema(items, known)
            return s.map_schema(entry.fields[0].schema, entry.fields[1].schema)
        return s.array_schema(connect_schema(items, known))
    if kind == "map":
        return s.map_schema(s.STRING, connect_schema(avro["values"], known))
    if kind == "enum":
        name, values = "io.confluent.connect.avro.Enum", avro["symbols"]
        parameters = ((name, full_name(avro)), *((f"{name}.{each}", each) for each in values))
        return Schema(Type.STRING, name=full_name(avro), parameters=tuple(parameters))
    declared = avro.get("connect.type")
    return Schema(Type(declared) if declared in ("int8", "int16") else _FROM_AVRO.get(kind, Type.STRING))


def _field_schema(field: Mapping[str, Any], known: dict[str, Any]) -> Schema:
    found = connect_schema(field["type"], known)
    if "default" not in field or (field["default"] is None and found.optional):
        return found
    default = field["default"]
    if found.type is Type.BYTES and isinstance(default, str):
        default = default.encode("latin-1")
    return found.with_default(from_avro(replace(found, has_default=False), default))


def _annotated(avro: Mapping[str, Any], found: Schema) -> Schema:
    logical = avro.get("logicalType")
    name = avro.get("connect.name") or _NAMES.get(logical or "") or found.name
    parameters = tuple(avro.get("connect.parameters", {}).items()) or found.parameters
    version = avro.get("connect.version", found.version)
    if logical == "decimal":
        name, parameters = s.DECIMAL_NAME, (("scale", str(avro.get("scale", 0))),)
    if name in s.LOGICAL_NAMES:
        version = 1
    return replace(
        found, name=name, parameters=parameters, version=version, doc=avro.get("connect.doc", found.doc)
    )


def from_avro(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if schema.name == s.DECIMAL_NAME:
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-s.decimal_scale(schema))
    if schema.name == s.DATE_NAME:
        return from_days(value)
    if schema.name in _LOGICAL:
        return from_millis(value)
    match schema.type:
        case Type.STRUCT if schema.name == "io.confluent.connect.avro.Union":
            return _union_value(schema, value)
        case Type.STRUCT:
            return Struct(schema, {e.name: from_avro(e.schema, value.get(e.name)) for e in schema.fields})
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [from_avro(schema.value_schema, each) for each in value]
        case Type.MAP:
            key, part = schema.key_schema, schema.value_schema
            assert key is not None
            assert part is not None
            if isinstance(value, list):
                return {from_avro(key, each["key"]): from_avro(part, each["value"]) for each in value}
            return {name: from_avro(part, each) for name, each in value.items()}
        case Type.FLOAT32:
            return Float32(value)
        case _:
            return value


def _union_value(schema: Schema, value: Any) -> Struct:
    """A union of several types is a struct with one field set; fastavro names the branch of a record."""
    kinds = {bool: "boolean", int: "long", float: "double", str: "string", bytes: "bytes"}
    name = value[0].rpartition(".")[2] if isinstance(value, tuple) else kinds.get(type(value), "")
    field = schema.field(name) or schema.field("int" if name == "long" else "float")
    if field is None:
        raise DataError(f"No branch of the union takes {type(value).__name__}")
    inner = value[1] if isinstance(value, tuple) else value
    return Struct(schema, {field.name: from_avro(field.schema, inner)})


def _branch(avro: Any) -> str:
    return avro if isinstance(avro, str) else str(avro.get("name") or avro["type"]).rpartition(".")[2]


def full_name(avro: Mapping[str, Any]) -> str:
    name = str(avro["name"])
    return name if "." in name or not avro.get("namespace") else f"{avro['namespace']}.{name}"


def _string_keys(schema: Schema) -> bool:
    key = schema.key_schema
    return key is not None and key.type is Type.STRING and not key.optional
