"""Whether a JSON value can be the default of a field. For a union any branch will do, as in Avro 1.12."""

from __future__ import annotations

from typing import Any

from penstock.schemas.avro.model import Array, AvroType, Enum, Fixed, Map, RecordSchema, Union


def fits(value: Any, kind: AvroType) -> bool:
    if isinstance(kind, Union):
        return any(fits(value, branch) for branch in kind.branches)
    if isinstance(kind, Array):
        return isinstance(value, list) and all(fits(each, kind.items) for each in value)
    if isinstance(kind, Map):
        return isinstance(value, dict) and all(fits(each, kind.values) for each in value.values())
    if isinstance(kind, RecordSchema):
        return isinstance(value, dict) and all(
            fits(value[field.name], field.type) if field.name in value else field.has_default
            for field in kind.fields
        )
    if isinstance(kind, Enum):
        return value in kind.symbols
    if isinstance(kind, Fixed):
        return _is_bytes(value) and len(value) == kind.size
    return _fits_primitive(value, kind.kind)


def _fits_primitive(value: Any, kind: str) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            bits = 31 if kind == "int" else 63
            return isinstance(value, int) and not isinstance(value, bool) and -(2**bits) <= value < 2**bits
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bytes":
            return _is_bytes(value)
    return isinstance(value, str)


def _is_bytes(value: Any) -> bool:
    """Bytes are written as text whose code points are below 256."""
    return isinstance(value, str) and all(ord(each) < 256 for each in value)
