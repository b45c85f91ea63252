"""Avro's types as JSON: `canonical` in the order of Avro's own writer, `normalised` in one order for all.

Canonical keeps doc, defaults, aliases and unknown properties; only whitespace, the order of the known keys
and needless forms (`{"type": "string"}`) go. Normalised also uses full names and sorts properties, so that
schemas which mean the same are the same text.
"""

from __future__ import annotations

from typing import Any

from penstock.schemas.avro.model import (
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Properties,
    RecordSchema,
)
from penstock.schemas.avro.model import Union as AvroUnion


def canonical(kind: AvroType, known: set[str]) -> Any:
    """As JSON; names in `known` are written as names, because references define them."""
    return _Canonical(set(known)).write(kind, "")


def normalised(kind: AvroType, known: set[str]) -> Any:
    return _Normalised(set(known)).write(kind)


class _Canonical:
    def __init__(self, written: set[str]) -> None:
        self._written = written

    def write(self, kind: AvroType, namespace: str) -> Any:
        if isinstance(kind, Primitive):
            return {"type": kind.kind, **kind.properties} if kind.properties else kind.kind
        if isinstance(kind, AvroUnion):
            return [self.write(branch, namespace) for branch in kind.branches]
        if isinstance(kind, Array):
            return {"type": "array", "items": self.write(kind.items, namespace), **kind.properties}
        if isinstance(kind, Map):
            return {"type": "map", "values": self.write(kind.values, namespace), **kind.properties}
        if kind.fullname in self._written:
            return _short(kind.fullname, namespace)
        self._written.add(kind.fullname)
        return self._named(kind, namespace)

    def _named(self, kind: RecordSchema | Enum | Fixed, namespace: str) -> dict[str, Any]:
        is_error = isinstance(kind, RecordSchema) and kind.is_error
        out: dict[str, Any] = {"type": "error" if is_error else kind.kind, "name": kind.name}
        if kind.namespace != namespace:
            out["namespace"] = kind.namespace
        if kind.doc is not None:
            out["doc"] = kind.doc
        if isinstance(kind, RecordSchema):
            out["fields"] = [self._field(field, kind.namespace) for field in kind.fields]
        elif isinstance(kind, Enum):
            out["symbols"] = list(kind.symbols)
            if kind.default is not None:
                out["default"] = kind.default
        else:
            out["size"] = kind.size
        out.update(kind.properties)
        if kind.aliases:
            out["aliases"] = [_short(alias, kind.namespace) for alias in kind.aliases]
        return out

    def _field(self, field: Field, namespace: str) -> dict[str, Any]:
        out: dict[str, Any] = {"name": field.name, "type": self.write(field.type, namespace)}
        if field.doc is not None:
            out["doc"] = field.doc
        if field.has_default:
            out["default"] = field.default
        if field.order != "ascending":
            out["order"] = field.order
        if field.aliases:
            out["aliases"] = list(field.aliases)
        return out | field.properties


class _Normalised:
    def __init__(self, written: set[str]) -> None:
        self._written = written

    def write(self, kind: AvroType) -> Any:
        if isinstance(kind, Primitive):
            return {"type": kind.kind, **_sorted(kind.properties)} if kind.properties else kind.kind
        if isinstance(kind, AvroUnion):
            return [self.write(branch) for branch in kind.branches]
        if isinstance(kind, Array):
            return {"type": "array", "items": self.write(kind.items), **_sorted(kind.properties)}
        if isinstance(kind, Map):
            return {"type": "map", "values": self.write(kind.values), **_sorted(kind.properties)}
        if kind.fullname in self._written:
            return kind.fullname
        self._written.add(kind.fullname)
        return self._named(kind)

    def _named(self, kind: RecordSchema | Enum | Fixed) -> dict[str, Any]:
        out: dict[str, Any] = {"type": kind.kind, "name": kind.fullname}
        if isinstance(kind, RecordSchema):
            out["fields"] = [self._field(field) for field in kind.fields]
        elif isinstance(kind, Enum):
            out["symbols"] = list(kind.symbols)
        else:
            out["size"] = kind.size
        if kind.doc:
            out["doc"] = kind.doc
        if kind.aliases:
            out["aliases"] = sorted(kind.aliases)
        if isinstance(kind, Enum) and kind.default is not None:
            out["default"] = kind.default
        return {**out, **_sorted(kind.properties)}

    def _field(self, field: Field) -> dict[str, Any]:
        out: dict[str, Any] = {"name": field.name, "type": self.write(field.type)}
        if field.order != "ascending":
            out["order"] = field.order
        if field.doc is not None:
            out["doc"] = field.doc
        if field.aliases:
            out["aliases"] = sorted(field.aliases)
        if field.has_default:
            out["default"] = _sorted(field.default)
        return {**out, **_sorted(field.properties)}


def _short(fullname: str, namespace: str) -> str:
    """The name as it is written inside a namespace."""
    space, _, name = fullname.rpartition(".")
    return name if space == namespace else fullname


def _sorted(value: Properties | Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(each) for each in value]
    return value
