"""Values from text, as Connect's `Values.parseString` reads them: the smallest type that holds the text."""

from __future__ import annotations

import math
import re
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from penstock.connect.data import schema as s
from penstock.connect.data.dates import EPOCH
from penstock.connect.data.schema import Schema
from penstock.connect.data.struct import Float32

_INTEGER: Final = re.compile(r"[+-]?\d+")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE: Final = ((8, s.INT8), (16, s.INT16), (32, s.INT32), (64, s.INT64))
_RANKS: Final = (s.INT8, s.INT16, s.INT32, s.INT64, s.FLOAT32, s.FLOAT64)
_DATES: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d"), "%Y-%m-%d", s.DATE),
    (re.compile(r"\d\d:\d\d:\d\d\.\d{3}Z"), "%H:%M:%S.%fZ", s.TIME),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "%Y-%m-%dT%H:%M:%S.%fZ", s.TIMESTAMP),
)

Literal = tuple[Schema | None, Any]


def parse_literal(text: str) -> Literal:
    """A schema and a value; text that is nothing else is a string."""
    plain = text.strip()
    if plain == "null":
        return None, None
    return _scalar(plain) or _collection(plain) or (s.STRING, text)


def _scalar(text: str) -> Literal | None:
    if text in ("true", "false"):
        return s.BOOLEAN, text == "true"
    if _INTEGER.fullmatch(text):
        number = int(text)
        for bits, schema in _WHOLE:
            if -(1 << bits - 1) <= number < 1 << bits - 1:
                return schema, number
    if _NUMBER.fullmatch(text):
        return _fraction(text)
    for pattern, form, schema in _DATES:
        if pattern.fullmatch(text):
            return _moment(text, form, schema)
    return None


def _fraction(text: str) -> Literal:
    """A float if it is within a float's range, else a double, else a decimal: as in Kafka, digits may go."""
    small = Float32(float(text))
    if not math.isinf(small):
        return s.FLOAT32, small
    if not math.isinf(float(text)):
        return s.FLOAT64, float(text)
    exact = Decimal(text)
    return s.decimal_schema(-int(exact.as_tuple().exponent)), exact


def _moment(text: str, form: str, schema: Schema) -> Literal | None:
    try:
        found = datetime.strptime(text, form).replace(tzinfo=EPOCH.tzinfo)
    except ValueError:
        return None
    return schema, found.replace(year=1970, month=1, day=1) if schema is s.TIME else found


def _collection(text: str) -> Literal | None:
    """`[1, 2]` and `{"a": 1}`, if what stands inside are literals of one type, or numbers."""
    if text[:1] + text[-1:] not in ("[]", "{}"):
        return None
    parts = [part.strip() for part in _split(text[1:-1], ",")]
    if parts == [""]:
        return None
    if text[0] == "[":
        elements = [_element(part) for part in parts]
        common = _common(elements)
        return None if common is None else (s.array_schema(common), [each[1] for each in elements if each])
    pairs = [[_element(side.strip()) for side in _split(part, ":")] for part in parts]
    if any(len(pair) != 2 for pair in pairs):
        return None
    key, value = _common([pair[0] for pair in pairs]), _common([pair[1] for pair in pairs])
    if key is None or value is None:
        return None
    return s.map_schema(key, value), {pair[0][1]: pair[1][1] for pair in pairs if pair[0] and pair[1]}


def _split(text: str, separator: str) -> list[str]:
    """Outside quotes."""
    return re.split(rf'{separator}(?=(?:[^"]*"[^"]*")*[^"]*$)', text)


def _element(text: str) -> Literal | None:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return s.STRING, text[1:-1].replace('\\"', '"')
    return _scalar(text)


def _common(elements: list[Literal | None]) -> Schema | None:
    found = [each[0] for each in elements if each is not None]
    if len(found) != len(elements) or any(each is None for each in found):
        return None
    if all(each in _RANKS for each in found):
        return max((each for each in found if each is not None), key=_RANKS.index)
    return found[0] if all(each == found[0] for each in found) else None
