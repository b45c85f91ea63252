"""Protobuf schemas of columns as ksqlDB registers them, through Connect's translation; and columns of
messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.client.schema_registry import Schema
from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql.serdes.codec import FormatError

MESSAGE: Final = "ConnectDefault"
OPTIONAL: Final = "OPTIONAL"
WRAPPER: Final = "WRAPPER"
_SIMPLE: Final[dict[t.SqlType, tuple[str, str]]] = {
    t.BOOLEAN: ("bool", "Bool"),
    t.INTEGER: ("int32", "Int32"),
    t.BIGINT: ("int64", "Int64"),
    t.DOUBLE: ("double", "Double"),
    t.STRING: ("string", "String"),
    t.BYTES: ("bytes", "Bytes"),
}
_TIMES: Final[dict[t.SqlType, tuple[str, str]]] = {
    t.DATE: ("google.type.Date", "google/type/date.proto"),
    t.TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    t.TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}


def schema_text(columns: Sequence[ColumnSchema], *, full_name: str = "", nullable: str = "") -> str:
    """The .proto file; `nullable` is how null is told from a default: OPTIONAL, WRAPPER, or not at all."""
    return _Writer(nullable).file([(column.name, column.type) for column in columns], full_name)


class _Writer:
    def __init__(self, nullable: str) -> None:
        self._nullable, self._imports, self._messages = nullable, set[str](), 0

    def file(self, fields: Sequence[tuple[str, t.SqlType]], full_name: str) -> str:
        package, _, name = full_name.rpartition(".")
        lines = self._message(fields, "", name or self._next_name())
        head = ['syntax = "proto3";', *([f"package {package};"] if package else []), ""]
        imports = [f'import "{each}";' for each in sorted(self._imports)]
        return "\n".join([*head, *imports, *([""] if imports else []), *lines, ""])

    def _next_name(self) -> str:
        self._messages += 1
        return f"{MESSAGE}{self._messages}"

    def _message(self, fields: Sequence[tuple[str, t.SqlType]], indent: str, name: str) -> list[str]:
        """The message, with the messages of its fields within it."""
        inner = f"{indent}  "
        lines: list[str] = []
        nested: list[str] = []
        for number, (field, kind) in enumerate(fields, 1):
            word, options = self._type(kind, inner, nested, repeated=False)
            lines.append(f"{inner}{word} {field} = {number}{options};")
        return [f"{indent}message {name} {{", *lines, *([""] if nested else []), *nested, f"{indent}}}"]

    def _type(self, kind: t.SqlType, indent: str, nested: list[str], *, repeated: bool) -> tuple[str, str]:
        match kind:
            case t.Array(item=t.Array()) | t.Array(item=t.Map()):
                raise FormatError("Array cannot be nested: the PROTOBUF format has no lists of lists or maps")
            case t.Array(item=item):
                word, options = self._type(item, indent, nested, repeated=True)
                return f"repeated {word}", options
            case t.Map(key=key, value=value):
                name = f"{self._next_name()}Entry"
                nested += self._message([("key", key), ("value", value)], indent, name)
                return f"repeated {name}", ""
            case t.Struct(fields=fields):
                name = self._next_name()
                nested += self._message([(field.name, field.type) for field in fields], indent, name)
                return name, ""
            case t.Decimal(precision=precision, scale=scale):
                self._imports |= {"confluent/meta.proto", "confluent/type/decimal.proto"}
                given = [
                    f'{{ key: "{k}", value: "{v}" }}' for k, v in (("precision", precision), ("scale", scale))
                ]
                return (
                    "confluent.type.Decimal",
                    f" [(confluent.field_meta) = {{ params: [{', '.join(given)}] }}]",
                )
            case _ if kind in _TIMES:
                word, file = _TIMES[kind]
                self._imports.add(file)
                return word, ""
            case _:
                return self._simple(kind, repeated), ""

    def _simple(self, kind: t.SqlType, repeated: bool) -> str:
        word, wrapper = _SIMPLE[kind]
        if repeated or not self._nullable:
            return word
        if self._nullable == OPTIONAL:
            return f"optional {word}"
        self._imports.add("google/protobuf/wrappers.proto")
        return f"google.protobuf.{wrapper}Value"


_SCALARS: Final = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), t.INTEGER),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint32", "fixed32", "uint64", "fixed64"), t.BIGINT),
    **dict.fromkeys(("float", "double"), t.DOUBLE),
    "bool": t.BOOLEAN,
    "string": t.STRING,
    "bytes": t.BYTES,
    "enum": t.STRING,
}
WRAPPERS: Final = {
    f"google.protobuf.{name}Value": kind
    for name, kind in (
        ("Bool", t.BOOLEAN), ("Int32", t.INTEGER), ("Int64", t.BIGINT), ("UInt32", t.BIGINT),
        ("UInt64", t.BIGINT), ("Float", t.DOUBLE), ("Double", t.DOUBLE), ("String", t.STRING),
        ("Bytes", t.BYTES),
    )
}  # fmt: skip
_NUMBERED: Final = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool",
    9: "string", 12: "bytes", 13: "uint32", 14: "enum", 15: "sfixed32", 16: "sfixed64", 17: "sint32",
    18: "sint64",
}  # fmt: skip


def described(schema: Schema) -> Any:
    """The file of a registered schema, with the options of its fields."""
    from penstock.schemas.protobuf.building import build_pool
    from penstock.schemas.protobuf.custom_options import interpreted
    from penstock.schemas.protobuf.schema import parse_protobuf

    found = parse_protobuf(schema.text, dict(schema.references))
    whole = interpreted(found.file, build_pool(found.written, found.imports))
    return build_pool(whole, found.imports).FindFileByName(whole.name)


def struct_of_message(message: Any, seen: tuple[str, ...] = ()) -> t.Struct | None:
    """The columns of a message's descriptor, but for fields of unsupported types and of messages within
    themselves.
    """
    seen = (*seen, message.full_name)
    fields = [(field.name, _field_type(field, seen)) for field in message.fields]
    known = [(name, kind) for name, kind in fields if kind is not None]
    return t.struct_of(known) if known else None


def _field_type(field: Any, seen: tuple[str, ...]) -> t.SqlType | None:
    message = field.message_type
    if message is not None and (message.GetOptions().map_entry or _is_entry(field)):
        key, value = (_field_type(message.fields_by_name[name], seen) for name in ("key", "value"))
        return None if key is None or value is None else t.Map(key, value)
    kind = _one_type(field, seen)
    return t.Array(kind) if kind is not None and field.is_repeated else kind


def _is_entry(field: Any) -> bool:
    """Whether a repeated message is a map as Connect writes it."""
    message = field.message_type
    names = [each.name for each in message.fields]
    return bool(field.is_repeated) and message.name.endswith("Entry") and names == ["key", "value"]


def _one_type(field: Any, seen: tuple[str, ...]) -> t.SqlType | None:
    message = field.message_type
    if message is None:
        return _SCALARS.get(_NUMBERED.get(field.type, ""))
    name = message.full_name
    if name in WRAPPERS:
        return WRAPPERS[name]
    if name == "confluent.type.Decimal":
        return _decimal(field)
    known = next((kind for kind, (word, _) in _TIMES.items() if word == name), None)
    if known is not None or name in seen:
        return known
    return struct_of_message(message, seen)


def _decimal(field: Any) -> t.Decimal:
    """Precision and scale stand in Connect's option of the field, which only the schema's own pool knows."""
    from google.protobuf.message_factory import GetMessageClass

    pool = field.file.pool
    try:
        options = GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FieldOptions"))
        GetMessageClass(pool.FindMessageTypeByName("confluent.Meta"))
    except KeyError:
        return t.Decimal(64, 0)
    for descriptor, value in options.FromString(field.GetOptions().SerializeToString()).ListFields():
        if descriptor.full_name == "confluent.field_meta":
            given = dict(value.params)
            return t.Decimal(int(given.get("precision", 64)), int(given.get("scale", 0)))
    return t.Decimal(64, 0)
