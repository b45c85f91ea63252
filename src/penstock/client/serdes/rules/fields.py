"""Values walked field by field, by their schema: what rules on fields need.

A walk returns a changed copy; the caller's value stays as it is. Each kind of schema names fields in
Confluent's way: `namespace.Record.field` in Avro, `package.Message.field` in Protobuf, `$.field` in JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NamedTuple

from penstock.schemas.avro import model as avro
from penstock.schemas.json_schema.places import Place
from penstock.schemas.tags import tags_of

PRIMITIVE: Final = frozenset({"STRING", "BYTES", "INT", "LONG", "FLOAT", "DOUBLE", "BOOLEAN", "NULL"})


class Field(NamedTuple):
    full_name: str
    name: str
    type_name: str
    """STRING, LONG, …; upper-case words of Avro for every format."""
    tags: frozenset[str]
    """Those in the schema; those of the metadata come on top."""
    message: Any
    """What the field is part of."""

    @property
    def is_primitive(self) -> bool:
        return self.type_name in PRIMITIVE


Change = Callable[[Field, Any], Any]
Walk = Callable[[Any, Change], Any]


def avro_walk(root: avro.AvroType) -> Walk:
    return lambda value, change: _avro(root, value, change, None)


def _avro(kind: avro.AvroType, value: Any, change: Change, owner: Field | None) -> Any:
    if isinstance(kind, avro.Union):
        return _avro_union(kind, value, change, owner)
    if isinstance(kind, avro.Array) and isinstance(value, (list, tuple)):
        return [_avro(kind.items, each, change, owner) for each in value]
    if isinstance(kind, avro.Map) and isinstance(value, dict):
        return {name: _avro(kind.values, each, change, owner) for name, each in value.items()}
    if isinstance(kind, avro.RecordSchema):
        return _avro_record(kind, value, change) if isinstance(value, dict) else value
    return value if owner is None else change(owner._replace(type_name=kind.kind.upper()), value)


def _avro_record(kind: avro.RecordSchema, value: dict[str, Any], change: Change) -> dict[str, Any]:
    changed = dict(value)
    for each in kind.fields:
        if each.name in value:
            words = frozenset(tags_of(each.properties))
            owner = Field(f"{kind.fullname}.{each.name}", each.name, each.type.kind.upper(), words, value)
            changed[each.name] = _avro(each.type, value[each.name], change, owner)
    return changed


def _avro_union(kind: avro.Union, value: Any, change: Change, owner: Field | None) -> Any:
    """The branch that the value is of. fastavro's `(name, value)` names it and is kept."""
    if isinstance(value, tuple) and len(value) == 2:
        named = [each for each in kind.branches if getattr(each, "fullname", each.kind) == value[0]]
        return (value[0], _avro(named[0], value[1], change, owner)) if named else value
    branch = next((each for each in kind.branches if _avro_takes(each, value)), None)
    return value if branch is None else _avro(branch, value, change, owner)


_PYTHON: Final[dict[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "string": (str,),
    "bytes": (bytes, bytearray),
    "array": (list,),
    "map": (dict,),
    "float": (float, int),
    "double": (float, int),
}


def _avro_takes(kind: avro.AvroType, value: Any) -> bool:
    if isinstance(kind, avro.RecordSchema):
        return isinstance(value, dict) and all(each.name in value or each.has_default for each in kind.fields)
    if isinstance(kind, avro.Enum):
        return value in kind.symbols
    if isinstance(kind, avro.Fixed):
        return isinstance(value, bytes) and len(value) == kind.size
    if isinstance(kind, avro.Primitive) and "logicalType" in kind.properties:
        return value is not None and not isinstance(value, (bool, dict, list))
    if kind.kind in ("int", "long"):
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, _PYTHON[kind.kind])


def json_walk(root: Place) -> Walk:
    return lambda value, change: _json(root, value, change, "$", None)


def _json(place: Place, value: Any, change: Change, path: str, owner: Field | None) -> Any:
    place = _followed(place)
    schema = place.value
    if not isinstance(schema, dict):
        return value
    for branch in _branches(schema):
        value = _json(place.at(branch), value, change, path, owner)
    if isinstance(value, list):
        items = schema.get("items")
        return (
            value if items is None else [_json(place.at(items), each, change, path, owner) for each in value]
        )
    if isinstance(value, dict):
        return _json_object(place, value, change, path)
    kind = _json_type(schema)
    return value if owner is None or kind is None else change(owner._replace(type_name=kind), value)


def _json_object(place: Place, value: dict[str, Any], change: Change, path: str) -> dict[str, Any]:
    changed = dict(value)
    for name, inner in (place.value.get("properties") or {}).items():
        if name in value and isinstance(inner, dict):
            full = f"{path}.{name}"
            words = frozenset(tags_of(inner))
            owner = Field(full, name, _json_type(inner) or "COMBINED", words, value)
            changed[name] = _json(place.at(inner), value[name], change, full, owner)
    return changed


def _followed(place: Place) -> Place:
    for _ in range(100):
        reference = place.value.get("$ref") if isinstance(place.value, dict) else None
        if not isinstance(reference, str):
            break
        place = place.document.find(reference)
    return place


def _branches(schema: dict[str, Any]) -> Iterable[Any]:
    """Parts of a schema that all describe the same value. Fields of alternatives are told apart by name."""
    for word in ("allOf", "anyOf", "oneOf"):
        yield from (each for each in schema.get(word) or () if isinstance(each, dict))


_JSON_TYPES: Final = {
    "string": "STRING", "integer": "LONG", "number": "DOUBLE", "boolean": "BOOLEAN", "null": "NULL",
    "object": "RECORD", "array": "ARRAY",
}  # fmt: skip


def _json_type(schema: dict[str, Any]) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        rest = [each for each in kind if each != "null"]
        kind = rest[0] if len(rest) == 1 else None
    return _JSON_TYPES.get(kind) if isinstance(kind, str) else None


def protobuf_walk(tags: dict[str, frozenset[str]]) -> Walk:
    """Of messages. `tags` are those in the schema, by full names."""
    return lambda value, change: _message(value, change, tags)


def _message(message: Any, change: Change, tags: dict[str, frozenset[str]]) -> Any:
    changed = type(message)()
    changed.CopyFrom(message)
    for descriptor, value in message.ListFields():
        owner = Field(
            descriptor.full_name, descriptor.name, protobuf_type(descriptor),
            tags.get(descriptor.full_name, frozenset()), message,
        )  # fmt: skip
        _set(changed, descriptor, value, partial(_one, change, tags, owner))
    return changed


def _one(change: Change, tags: dict[str, frozenset[str]], owner: Field, value: Any) -> Any:
    return _message(value, change, tags) if hasattr(value, "ListFields") else change(owner, value)


def _set(target: Any, descriptor: Any, value: Any, changed: Callable[[Any], Any]) -> None:
    """A field that is set, by what `changed` makes of each value in it."""
    name, held = descriptor.name, getattr(target, descriptor.name)
    if hasattr(value, "items"):  # a map
        of_messages = descriptor.message_type.fields_by_name["value"].message_type is not None
        for key, each in value.items():
            if of_messages:
                held[key].CopyFrom(changed(each))
            else:
                held[key] = changed(each)
    elif descriptor.is_repeated:
        made = [changed(each) for each in value]
        target.ClearField(name)
        getattr(target, name).extend(made)
    elif descriptor.message_type is not None:
        held.CopyFrom(changed(value))
    else:
        setattr(target, name, changed(value))


def protobuf_type(descriptor: Any) -> str:
    kind = descriptor.cpp_type
    if kind == descriptor.CPPTYPE_STRING:
        return "BYTES" if descriptor.type == descriptor.TYPE_BYTES else "STRING"
    return {
        descriptor.CPPTYPE_INT32: "INT", descriptor.CPPTYPE_UINT32: "LONG",
        descriptor.CPPTYPE_INT64: "LONG", descriptor.CPPTYPE_UINT64: "LONG",
        descriptor.CPPTYPE_FLOAT: "FLOAT", descriptor.CPPTYPE_DOUBLE: "DOUBLE",
        descriptor.CPPTYPE_BOOL: "BOOLEAN", descriptor.CPPTYPE_ENUM: "ENUM",
    }.get(kind, "RECORD")  # fmt: skip
