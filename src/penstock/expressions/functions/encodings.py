"""Functions between STRING and BYTES, and numbers from bytes."""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from typing import Final

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.registry import Functions

define = Functions()

_ORDERS: Final = {"BIG_ENDIAN": ">", "LITTLE_ENDIAN": "<"}


def _decoded(text: str, encoding: str) -> bytes:
    match encoding.lower():
        case "hex":
            return _from_hex(text)
        case "utf8":
            return text.encode("utf-8", "replace")
        case "ascii":
            return text.encode("ascii", "replace")
        case "base64":
            return b64decode(text, validate=True)
        case _:
            raise EvaluationFailed(f"Supported encodings are: hex, utf8, ascii and base64, not {encoding}")


def _from_hex(text: str) -> bytes:
    """`0x41`, `X'41'`, `x'41'` or `41`; an odd number of digits has a 0 before it."""
    if text[:2].lower() == "0x":
        text = text[2:]
    elif text[:2].lower() == "x'" and text.endswith("'"):
        text = text[2:-1]
    return bytes.fromhex(("0" if len(text) % 2 else "") + text)


def _encoded(data: bytes, encoding: str) -> str:
    match encoding.lower():
        case "hex":
            return data.hex().upper()
        case "utf8":
            return data.decode("utf-8", "replace")
        case "ascii":
            return data.decode("ascii", "replace")
        case "base64":
            return b64encode(data).decode()
        case _:
            raise EvaluationFailed(f"Supported encodings are: hex, utf8, ascii and base64, not {encoding}")


@define("TO_BYTES(STRING, STRING) -> BYTES")
def to_bytes(text: str, encoding: str) -> bytes:
    """The bytes of a text in hex, utf8, ascii or base64."""
    return _decoded(text, encoding)


@define("FROM_BYTES(BYTES, STRING) -> STRING")
def from_bytes(data: bytes, encoding: str) -> str:
    """Bytes as text in hex, utf8, ascii or base64."""
    return _encoded(data, encoding)


@define("ENCODE(STRING, STRING, STRING) -> STRING")
def encode(text: str, source: str, target: str) -> str:
    """A text in one encoding, put into another."""
    if source.lower() == target.lower():
        return text
    return (
        _encoded(_decoded(text, source), target).lower()
        if target.lower() == "hex"
        else _encoded(_decoded(text, source), target)
    )


def _number(data: bytes, order: str, form: str, what: str) -> int | float:
    size = struct.calcsize(">" + form)
    if len(data) != size:
        raise EvaluationFailed(f"Number of bytes must be equal to {size}, but found {len(data)}: {what}")
    if order.upper() not in _ORDERS:
        raise EvaluationFailed(f"Byte order must be BIG_ENDIAN or LITTLE_ENDIAN, not {order}")
    value: int | float = struct.unpack(_ORDERS[order.upper()] + form, data)[0]
    return value


@define("INT_FROM_BYTES(BYTES) -> INT", "INT_FROM_BYTES(BYTES, STRING) -> INT")
def int_from_bytes(data: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """Four bytes as an INT."""
    return _number(data, order, "i", "an INT has 4")


@define("BIGINT_FROM_BYTES(BYTES) -> BIGINT", "BIGINT_FROM_BYTES(BYTES, STRING) -> BIGINT")
def bigint_from_bytes(data: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """Eight bytes as a BIGINT."""
    return _number(data, order, "q", "a BIGINT has 8")


@define("DOUBLE_FROM_BYTES(BYTES) -> DOUBLE", "DOUBLE_FROM_BYTES(BYTES, STRING) -> DOUBLE")
def double_from_bytes(data: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """Eight bytes as a DOUBLE."""
    return _number(data, order, "d", "a DOUBLE has 8")
