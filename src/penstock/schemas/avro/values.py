"""Avro values: fastavro writes and reads the bytes; here Avro's JSON encoding becomes its values and back."""

from __future__ import annotations

import io
from typing import Any

import fastavro
from fastavro.types import Schema as FastavroSchema

from penstock.schemas.avro.model import Array, AvroType, Enum, Fixed, Map, Primitive, RecordSchema, Union
from penstock.schemas.avro.schema import AvroSchema
from penstock.schemas.avro.weight import has_weightless_array
from penstock.schemas.avro.writing import canonical
from penstock.schemas.errors import InvalidValue


class AvroCodec:
    def __init__(self, schema: AvroSchema) -> None:
        self._root = schema.root
        self._unreadable = has_weightless_array(schema.root)
        # Logical types stay the numbers and bytes that they are: JSON has no decimals and dates either.
        self._fast = fastavro_schema(schema, logical_types=False)

    def encode(self, value: Any) -> bytes:
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, self._fast, _from_json(value, self._root, "value"))
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError) as error:
            raise InvalidValue(f"The value does not fit its Avro schema: {error}") from error
        return out.getvalue()

    def decode(self, payload: bytes) -> Any:
        if self._unreadable:
            raise InvalidValue(
                "Arrays of items without bytes, such as nulls, are not read: any length could be claimed."
            )
        try:
            value = fastavro.schemaless_reader(io.BytesIO(payload), self._fast, None, return_named_type=True)
        except (
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            EOFError,
            UnicodeDecodeError,
            MemoryError,
        ) as error:
            raise InvalidValue(f"The bytes are not of their Avro schema: {error}") from error
        return _to_json(value, self._root)


def fastavro_schema(schema: AvroSchema, *, logical_types: bool = True) -> FastavroSchema:
    """The whole schema with its references written out, as fastavro takes it."""
    whole = canonical(schema.root, set())
    return fastavro.parse_schema(whole if logical_types else _without_logical_types(whole))


def _without_logical_types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_logical_types(each) for key, each in value.items() if key != "logicalType"}
    return [_without_logical_types(each) for each in value] if isinstance(value, list) else value


def _from_json(value: Any, kind: AvroType, path: str) -> Any:
    if isinstance(kind, Union):
        return _from_union(value, kind, path)
    if isinstance(kind, RecordSchema):
        return _from_record(value, kind, path)
    if isinstance(kind, Array):
        _check(isinstance(value, list), value, kind, path)
        return [_from_json(each, kind.items, f"{path}[{at}]") for at, each in enumerate(value)]
    if isinstance(kind, Map):
        _check(isinstance(value, dict), value, kind, path)
        return {name: _from_json(each, kind.values, f"{path}.{name}") for name, each in value.items()}
    if kind.kind in ("bytes", "fixed"):
        _check(isinstance(value, str) and all(ord(each) < 256 for each in value), value, kind, path)
        return value.encode("latin-1")
    _check(_is_simple(value, kind), value, kind, path)
    return float(value) if kind.kind in ("float", "double") else value


def _from_record(value: Any, kind: RecordSchema, path: str) -> dict[str, Any]:
    """As Avro's own JSON decoder: unknown fields are passed over, and no default stands in for a field."""
    _check(isinstance(value, dict), value, kind, path)
    out = {}
    for field in kind.fields:
        if field.name not in value:
            raise InvalidValue(f"{path} lacks the field {field.name!r} of {kind.fullname}.")
        out[field.name] = _from_json(value[field.name], field.type, f"{path}.{field.name}")
    return out


def _from_union(value: Any, kind: Union, path: str) -> Any:
    """null, or an object of one key that names the branch."""
    branches = {_branch_name(branch): branch for branch in kind.branches}
    if value is None and "null" in branches:
        return None
    if isinstance(value, dict) and len(value) == 1:
        name = next(iter(value))
        if name in branches:
            return name, _from_json(value[name], branches[name], path)
    names = ", ".join(branches)
    raise InvalidValue(f'{path} is {_shown(value)}; a union takes {{"TYPE": value}} with one of {names}.')


def _to_json(value: Any, kind: AvroType) -> Any:
    if isinstance(kind, Union):
        return _to_union(value, kind)
    if isinstance(kind, RecordSchema):
        fields = value[1] if isinstance(value, tuple) else value
        return {field.name: _to_json(fields[field.name], field.type) for field in kind.fields}
    if isinstance(kind, Array):
        return [_to_json(each, kind.items) for each in value]
    if isinstance(kind, Map):
        return {name: _to_json(each, kind.values) for name, each in value.items()}
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _to_union(value: Any, kind: Union) -> Any:
    if value is None:
        return None
    for branch in kind.branches:
        if isinstance(value, tuple):
            if _branch_name(branch) == value[0]:
                return {value[0]: _to_json(value[1], branch)}
        elif _is_value(value, branch):
            return {_branch_name(branch): _to_json(value, branch)}
    return value


def _is_value(value: Any, kind: AvroType) -> bool:
    """Whether a value that was read can be of a branch."""
    if isinstance(kind, RecordSchema):
        return isinstance(value, dict) and value.keys() == {field.name for field in kind.fields}
    if isinstance(kind, Array):
        return isinstance(value, list)
    if isinstance(kind, Map):
        return isinstance(value, dict)
    if isinstance(kind, Fixed) or kind.kind == "bytes":
        return isinstance(value, bytes) and (not isinstance(kind, Fixed) or len(value) == kind.size)
    if kind.kind in ("float", "double"):
        return isinstance(value, float)
    return _is_simple(value, kind)


def _is_simple(value: Any, kind: AvroType) -> bool:
    if isinstance(kind, Enum):
        return value in kind.symbols
    match kind.kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            bits = 31 if kind.kind == "int" else 63
            return isinstance(value, int) and not isinstance(value, bool) and -(2**bits) <= value < 2**bits
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str)


def _branch_name(kind: AvroType) -> str:
    return kind.fullname if isinstance(kind, RecordSchema | Enum | Fixed) else kind.kind


def _check(holds: bool, value: Any, kind: AvroType, path: str) -> None:
    if not holds:
        name = kind.kind if isinstance(kind, Primitive) else _branch_name(kind)
        raise InvalidValue(f"{path} is {_shown(value)}, which is no {name}.")


def _shown(value: Any) -> str:
    return repr(value)[:80]
