"""From JSON to Avro's types, with the rules of the specification. References are types known beforehand."""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

from penstock.schemas.avro.defaults import fits
from penstock.schemas.avro.model import (
    PRIMITIVES,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Properties,
    RecordSchema,
    Union,
)
from penstock.schemas.errors import InvalidSchema

Types = dict[str, RecordSchema | Enum | Fixed]
"""Named types by full name."""

NamedType = TypeVar("NamedType", RecordSchema, Enum, Fixed)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OF_TYPES: Final = frozenset(
    ("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases")
)
_OF_FIELDS: Final = frozenset(("default", "doc", "name", "order", "type", "aliases"))
_ORDERS: Final = ("ascending", "descending", "ignore")


def parse_type(value: Any, known: Types, *, check_defaults: bool = True) -> AvroType:
    """The type that the JSON value describes. `known` holds the references and gains what is defined here."""
    return _Parser(known, check_defaults).parse(value, "")


class _Parser:
    def __init__(self, known: Types, check_defaults: bool) -> None:
        self._known = known
        self._check_defaults = check_defaults

    def parse(self, value: Any, namespace: str) -> AvroType:
        if isinstance(value, str):
            return self._by_name(value, namespace)
        if isinstance(value, list):
            return self._union(value, namespace)
        if isinstance(value, dict):
            return self._object(value, namespace)
        raise InvalidSchema(f"{_shown(value)} is no Avro type: a name, an object or a list is.")

    def _by_name(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return Primitive(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self._known.get(full) or self._known.get(name)
        if found is None:
            raise InvalidSchema(f'Undefined name: "{name[:200]}". Define it first, or refer to its schema.')
        return found

    def _union(self, branches: list[Any], namespace: str) -> Union:
        parsed = [self.parse(branch, namespace) for branch in branches]
        names = [getattr(branch, "fullname", branch.kind) for branch in parsed]
        if any(isinstance(branch, Union) for branch in parsed):
            raise InvalidSchema("A union stands directly in a union, which Avro does not allow.")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidSchema(f"Duplicate in union: {twice}.")
        return Union(parsed)

    def _object(self, value: dict[str, Any], namespace: str) -> AvroType:
        kind = value.get("type")
        if not isinstance(kind, str):
            if kind is None:
                raise InvalidSchema(f'{_shown(value)} has no "type".')
            return self.parse(kind, namespace)
        match kind:
            case "record" | "error":
                return self._record(value, namespace)
            case "enum":
                return self._enum(value, namespace)
            case "fixed":
                return self._fixed(value, namespace)
            case "array":
                return Array(self.parse(_needed(value, "items"), namespace), _properties(value))
            case "map":
                return Map(self.parse(_needed(value, "values"), namespace), _properties(value))
        if kind in PRIMITIVES:
            return Primitive(kind, _properties(value))
        return self._by_name(kind, namespace)

    def _record(self, value: dict[str, Any], namespace: str) -> RecordSchema:
        named = self._named(value, namespace)
        record = RecordSchema(*named, is_error=value["type"] == "error")
        self._define(record)
        fields = _needed(value, "fields")
        if not isinstance(fields, list):
            raise InvalidSchema(f'"fields" of record {record.fullname} is no list.')
        for each in fields:
            record.fields.append(self._field(each, record))
        names = [each.name for each in record.fields]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidSchema(f"Duplicate field {twice} in record {record.fullname}.")
        return record

    def _field(self, value: Any, record: RecordSchema) -> Field:
        if not isinstance(value, dict):
            raise InvalidSchema(f"{_shown(value)} is no field of record {record.fullname}.")
        name = _checked(_text(value, "name"))
        parsed = self.parse(_needed(value, "type"), record.namespace)
        has_default = "default" in value
        if has_default and self._check_defaults and not fits(value["default"], parsed):
            shown = _shown(value["default"])
            raise InvalidSchema(
                f"Invalid default for field {name} of record {record.fullname}: {shown} is no {parsed.kind}."
            )
        order = value.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise InvalidSchema(
                f"The order of field {name} is {_shown(order)}; it may be {', '.join(_ORDERS)}."
            )
        return Field(
            name,
            parsed,
            _doc(value),
            value.get("default"),
            has_default,
            order.lower(),
            _texts(value, "aliases"),
            {key: each for key, each in value.items() if key not in _OF_FIELDS},
        )

    def _enum(self, value: dict[str, Any], namespace: str) -> Enum:
        fullname, aliases, doc, properties = self._named(value, namespace)
        symbols = _texts(value, "symbols")
        for symbol in symbols:
            _checked(symbol)
        if "symbols" not in value:
            raise InvalidSchema(f"Enum {fullname} has no symbols.")
        if len(set(symbols)) < len(symbols):
            raise InvalidSchema(f"Enum {fullname} has a symbol twice.")
        default = properties.pop("default", None)
        if default is not None and default not in symbols:
            raise InvalidSchema(f"The default {_shown(default)} of enum {fullname} is none of its symbols.")
        return self._define(Enum(fullname, aliases, doc, properties, symbols, default))

    def _fixed(self, value: dict[str, Any], namespace: str) -> Fixed:
        size = _needed(value, "size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**31:
            raise InvalidSchema(f"The size of a fixed type is {_shown(size)}; it is a number of bytes.")
        return self._define(Fixed(*self._named(value, namespace), size))

    def _named(
        self, value: dict[str, Any], enclosing: str
    ) -> tuple[str, tuple[str, ...], str | None, Properties]:
        name = _text(value, "name")
        space = value.get("namespace", enclosing)
        if not isinstance(space, str):
            raise InvalidSchema(f"The namespace {_shown(space)} is no text.")
        fullname = name if "." in name else _qualified(name, space)
        for part in fullname.lstrip(".").split("."):
            _checked(part)
        space = fullname.rpartition(".")[0]
        aliases = tuple(a if "." in a else _qualified(a, space) for a in _texts(value, "aliases"))
        return fullname.lstrip("."), aliases, _doc(value), _properties(value)

    def _define(self, named: NamedType) -> NamedType:
        if named.fullname in self._known or named.fullname in PRIMITIVES:
            raise InvalidSchema(f"Can't redefine: {named.fullname}.")
        self._known[named.fullname] = named
        return named


def _qualified(name: str, namespace: str) -> str:
    return f"{namespace}.{name}" if namespace else name


def _properties(value: dict[str, Any]) -> Properties:
    return {key: each for key, each in value.items() if key not in _OF_TYPES}


def _needed(value: dict[str, Any], key: str) -> Any:
    if key not in value:
        raise InvalidSchema(f'{_shown(value)} has no "{key}".')
    return value[key]


def _text(value: dict[str, Any], key: str) -> str:
    found = _needed(value, key)
    if not isinstance(found, str):
        raise InvalidSchema(f'"{key}" is {_shown(found)}, which is no text.')
    return found


def _texts(value: dict[str, Any], key: str) -> tuple[str, ...]:
    found = value.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InvalidSchema(f'"{key}" is {_shown(found)}, which is no list of names.')
    return tuple(found)


def _doc(value: dict[str, Any]) -> str | None:
    found = value.get("doc")
    return found if isinstance(found, str) else None


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidSchema(f"Illegal name {name[:200]!r}: letters, digits and underscores, no digit first.")
    return name


def _shown(value: Any) -> str:
    return repr(value)[:120]
