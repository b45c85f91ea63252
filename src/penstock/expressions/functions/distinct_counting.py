"""HyperLogLog with 2,048 registers (an error of about 2.3%), exact while there are few values.

A state is text, so that any store can hold it: up to 256 values as their hashes, then registers.
"""

from __future__ import annotations

import hashlib
import math
from base64 import b64decode, b64encode
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.functions.json_texts import json_text

_BITS: Final = 11
_REGISTERS: Final = 1 << _BITS
_EXACT: Final = 256
_ALPHA: Final = 0.7213 / (1 + 1.079 / _REGISTERS)


def _hash(value: Any, kind: t.SqlType) -> str:
    return hashlib.blake2b(json_text(value, kind).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def added(state: str, value: Any, kind: t.SqlType) -> str:
    return _with(state, [_hash(value, kind)])


def merged(one: str, other: str) -> str:
    if other.startswith("#"):
        one, other = other, one
    if not other.startswith("#"):
        return _with(one, _hashes(other))
    registers = map(max, _registers(one), _registers(other))
    return "#" + b64encode(bytes(registers)).decode()


def estimate(state: str) -> int:
    if not state.startswith("#"):
        return len(_hashes(state))
    registers = _registers(state)
    zeros = registers.count(0)
    raw = _ALPHA * _REGISTERS**2 / sum(2.0**-register for register in registers)
    if raw <= 2.5 * _REGISTERS and zeros:
        return round(_REGISTERS * math.log(_REGISTERS / zeros))
    return round(raw)


def _hashes(state: str) -> list[str]:
    return [state[at : at + 16] for at in range(0, len(state), 16)]


def _registers(state: str) -> bytes:
    return b64decode(state[1:])


def _with(state: str, hashes: list[str]) -> str:
    if not state.startswith("#"):
        known = dict.fromkeys([*_hashes(state), *hashes])
        if len(known) <= _EXACT:
            return "".join(known)
        state, hashes = "#" + b64encode(bytes(_REGISTERS)).decode(), list(known)
    registers = bytearray(_registers(state))
    for text in hashes:
        number = int(text, 16)
        place, rest = number >> (64 - _BITS), number & ((1 << (64 - _BITS)) - 1)
        registers[place] = max(registers[place], 64 - _BITS - rest.bit_length() + 1)
    return "#" + b64encode(bytes(registers)).decode()
