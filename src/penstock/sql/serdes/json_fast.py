"""The usual JSON record, read and written at once: every column is there under its own name, with a value of
its own type, and no type needs a conversion.

Whatever is different (a name in another case, a number as text, a fraction for an integer, a number that
wraps) is left to `json_reading.py`, which defines what is read; a property test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, TypedDict

import msgspec

from penstock.expressions import types as t
from penstock.sql.serdes.json_writing import encode, writer

_INT: Final = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)] | None
_LONG: Final = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)] | None
_TYPES: Final[dict[t.SqlType, Any]] = {
    t.BOOLEAN: bool | None,
    t.INTEGER: _INT,
    t.DATE: _INT,
    t.TIME: _INT,
    t.BIGINT: _LONG,
    t.TIMESTAMP: _LONG,
    t.DOUBLE: float | None,
    t.STRING: str | None,
}
Fields = Sequence[tuple[str, t.SqlType]]


def fast_reader(fields: Fields) -> Callable[[bytes], dict[str, Any] | None] | None:
    """From bytes to columns and values, or to none where the bytes are not so simple. None where a column's
    type is not."""
    if not fields or any(kind not in _TYPES for _, kind in fields):
        return None
    form: Any = TypedDict("form", {name: _TYPES[kind] for name, kind in fields}, total=False)  # type: ignore[misc]
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(form).decode
    count = len(fields)

    def read(data: bytes) -> dict[str, Any] | None:
        try:
            row: dict[str, Any] = decode(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
        return row if len(row) == count else None

    return read


def fast_writer(fields: Fields) -> Callable[[Mapping[str, Any]], bytes]:
    """From columns and values to bytes: only columns whose values are written in another form are touched."""
    names = tuple(name for name, _ in fields)
    changed = tuple((name, writer(kind)) for name, kind in fields if kind not in _TYPES or kind == t.DOUBLE)

    def write(row: Mapping[str, Any]) -> bytes:
        get = row.get
        made = {name: get(name) for name in names}
        for name, change in changed:
            value = made[name]
            if value is not None:
                made[name] = change(value)
        return encode(made)

    return write
