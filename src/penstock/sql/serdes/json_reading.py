"""JSON to SQL values, with the conversions that ksqlDB makes.

Numbers are read from numbers and from text; text from anything, an object or array as its JSON. A field is
found by its exact name first, then by its name in upper case. Whatever is missing is null.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from penstock.expressions import types as t
from penstock.expressions.numbers import wrap_int, wrap_long
from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.decimals import fitted_exactly

Read = Callable[[Any, str], Any]
"""From a JSON value and its path to a SQL value."""

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_NODES: Final = {
    dict: "ObjectNode",
    list: "ArrayNode",
    str: "TextNode",
    bool: "BooleanNode",
    Decimal: "DecimalNode",
}
_decoder: Final = msgspec.json.Decoder(float_hook=Decimal)


def parse(data: bytes) -> Any:
    """JSON with its numbers as they stand: int, or Decimal."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError, InvalidOperation) as error:
        raise FormatError(f"Invalid JSON: {error}") from error


def json_text(value: Any) -> str:
    """A parsed JSON value as compact text."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{json_text(key)}:{json_text(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(json_text, value))}]"
    return msgspec.json.encode(value).decode()


def reader(kind: t.SqlType) -> Read:
    """The function that reads values of a type. Null stays null."""
    read = _reader(kind)
    return lambda value, path: None if value is None else read(value, path)


def fields_reader(fields: Sequence[tuple[str, t.SqlType]]) -> Callable[[dict[str, Any], str], list[Any]]:
    """The function that takes the values of fields out of an object, in order."""
    readers = [(name, reader(kind)) for name, kind in fields]
    topmost = [(name, each, f"$.{name}") for name, each in readers]
    names = {name for name, _ in readers}

    def read(value: dict[str, Any], path: str) -> list[Any]:
        if names <= value.keys():
            if path == "$":
                return [each(value[name], place) for name, each, place in topmost]
            return [each(value[name], f"{path}.{name}") for name, each in readers]
        upper = {name.upper(): item for name, item in value.items()}
        return [
            each(value[name] if name in value else upper.get(name), f"{path}.{name}")
            for name, each in readers
        ]

    return read


def wrong_type(value: Any, kind: t.SqlType, path: str) -> FormatError:
    return FormatError(f"Can't convert type. sourceType: {_node(value)}, requiredType: {kind}, path: {path}")


def _node(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return (
            "IntNode"
            if -(1 << 31) <= value < 1 << 31
            else "LongNode"
            if value.bit_length() < 64
            else "BigIntegerNode"
        )
    return "NullNode" if value is None else _NODES[type(value)]


def _reader(kind: t.SqlType) -> Read:
    match kind:
        case t.Decimal():
            return _decimal(kind)
        case t.Array(item=item):
            return _array(kind, reader(item))
        case t.Map():
            return _map(kind)
        case t.Struct():
            return _struct(kind)
        case _:
            return _SIMPLE[kind](kind)


def _whole(kind: t.SqlType, wrap: Callable[[int], int], bits: int) -> Read:
    def read(value: Any, path: str) -> int:
        if type(value) is int or isinstance(value, Decimal):
            return wrap(int(value))
        if isinstance(value, str):
            if _WHOLE.fullmatch(value) and -(1 << bits) <= int(value) < 1 << bits:
                return int(value)
            raise not_coerced(value, kind, path)
        raise wrong_type(value, kind, path)

    return read


def not_coerced(value: str, kind: t.SqlType, path: str) -> FormatError:
    return FormatError(f"Can't coerce string to type. targetType: {kind}, path: {path}: {value!r:.80}")


def _double(kind: t.SqlType) -> Read:
    def read(value: Any, path: str) -> float:
        if isinstance(value, Decimal) or type(value) is int:
            try:
                return float(value)
            except OverflowError:
                return float("inf") if value > 0 else float("-inf")
        if isinstance(value, str):
            try:
                return float(_java_double(value))
            except ValueError:
                raise not_coerced(value, kind, path) from None
        raise wrong_type(value, kind, path)

    return read


def _java_double(text: str) -> str:
    """What Double.parseDouble takes: no underscores, and exactly these words."""
    stripped = (
        text.strip().rstrip("dDfF") if text.strip()[-1:] in "dDfF" and text.strip()[:-1] else text.strip()
    )
    if stripped.lstrip("+-") in ("NaN", "Infinity"):
        return stripped
    if "_" in stripped or not stripped or not (stripped[-1].isdigit() or stripped[-1] == "."):
        raise ValueError(text)
    return stripped


def _boolean(kind: t.SqlType) -> Read:
    def read(value: Any, path: str) -> bool:
        if isinstance(value, bool):
            return value
        raise wrong_type(value, kind, path)

    return read


def _string(kind: t.SqlType) -> Read:
    def read(value: Any, path: str) -> str:
        return value if isinstance(value, str) else json_text(value)

    return read


def _bytes(kind: t.SqlType) -> Read:
    def read(value: Any, path: str) -> bytes:
        if not isinstance(value, str):
            raise wrong_type(value, kind, path)
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise FormatError(
                f"Value is not a valid Base64 encoded string: {value[:80]}, path: {path}"
            ) from None

    return read


_SIMPLE: Final[dict[t.SqlType, Callable[[t.SqlType], Read]]] = {
    t.BOOLEAN: _boolean,
    t.INTEGER: lambda kind: _whole(kind, wrap_int, 31),
    t.BIGINT: lambda kind: _whole(kind, wrap_long, 63),
    t.DOUBLE: _double,
    t.STRING: _string,
    t.BYTES: _bytes,
    t.DATE: lambda kind: _whole(kind, wrap_int, 31),
    t.TIME: lambda kind: _whole(kind, wrap_int, 31),
    t.TIMESTAMP: lambda kind: _whole(kind, wrap_long, 63),
}


def _decimal(kind: t.Decimal) -> Read:
    def read(value: Any, path: str) -> Decimal:
        if isinstance(value, Decimal) or type(value) is int:
            return fitted_exactly(Decimal(value), kind)
        if isinstance(value, str):
            try:
                return fitted_exactly(Decimal(value.strip().replace("_", "x")), kind)
            except InvalidOperation:
                raise not_coerced(value, kind, path) from None
        raise wrong_type(value, kind, path)

    return read


def _array(kind: t.Array, item: Read) -> Read:
    def read(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise wrong_type(value, kind, path)
        return [item(each, f"{path}[{at}]") for at, each in enumerate(value)]

    return read


def _map(kind: t.Map) -> Read:
    key, inner = reader(kind.key), reader(kind.value)

    def read(value: Any, path: str) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise wrong_type(value, kind, path)
        return {key(name, f"{path}.key"): inner(each, f"{path}.{name}.value") for name, each in value.items()}

    return read


def _struct(kind: t.Struct) -> Read:
    names = [field.name for field in kind.fields]
    fields = fields_reader([(field.name, field.type) for field in kind.fields])

    def read(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise wrong_type(value, kind, path)
        return dict(zip(names, fields(value, path), strict=True))

    return read
