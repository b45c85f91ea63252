"""Plain values as bytes: what rows, keys and aggregates become in stores and repartition topics.

Numbers, texts, bytes, decimals, lists, mappings and keys with their window are written without a schema, so
that one serde fits every step of a plan. Equal values of one type have equal bytes.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from penstock.kernels.record import Windowed

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
"""One encoder for all: `json.dumps` makes one for each call."""


@dataclass(frozen=True)
class PlainSerde:
    """JSON in which a list of two with a letter stands for what JSON has no word for."""

    def serialize(self, topic: str, value: Any) -> bytes:
        return _encode(_written(value)).encode()

    def deserialize(self, topic: str, data: bytes) -> Any:
        return _read(json.loads(data))


def _written(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Windowed):
        return {"w": [_written(value.key), value.start, value.end]}
    if isinstance(value, dict):
        if all(type(key) is str for key in value):
            return {"o": {key: _written(item) for key, item in value.items()}}
        return {"m": [[_written(key), _written(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    if isinstance(value, bytes):
        return {"b": b64encode(value).decode()}
    if isinstance(value, Decimal):
        return {"d": str(value)}
    raise TypeError(f"{type(value).__name__} is no plain value")


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((letter, inner),) = value.items()
    match letter:
        case "o":
            return {key: _read(item) for key, item in inner.items()}
        case "m":
            return {_read(key): _read(item) for key, item in inner}
        case "w":
            return Windowed(_read(inner[0]), inner[1], inner[2])
        case "b":
            return b64decode(inner)
        case _:
            return Decimal(inner)
