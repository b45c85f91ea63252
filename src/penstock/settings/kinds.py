"""The kinds of values a setting can have: text to value, value to Kafka's text, and what is allowed.

Nothing here knows a setting by name; `topic.py` and `broker.py` declare them. The rules and the sentences are
those of Kafka's ConfigDef, so that a tool that reads the error of a Kafka broker reads ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from penstock.settings.errors import SettingError, invalid

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", re.ASCII)
_REPLICAS_FORM = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
_THROTTLED_REPLICA = re.compile(r"[0-9]+:[0-9]+", re.ASCII)


class SettingType(IntEnum):
    """Kafka's types of settings under the codes that DescribeConfigs sends."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value. `parse` takes the setting's name and its trimmed text, and raises SettingError."""

    type: SettingType
    parse: Callable[[str, str], Any]
    render: Callable[[Any], str]
    allowed: str


def _number(type_: SettingType, low: int, high: int, also: int | None = None) -> Kind:
    bits = {SettingType.INT: 31, SettingType.SHORT: 15, SettingType.LONG: 63}[type_]
    ceiling = min(high, 2**bits - 1)
    allowed = f"a whole number from {low} to {ceiling}" + ("" if also is None else f", or {also}")

    def parse(name: str, text: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(text) or not -(2**bits) <= int(text) < 2**bits:
            raise invalid(name, text, f"Not a number of type {type_.name}", allowed)
        value = int(text)
        if value == also:
            return value
        if also is not None and not low <= value <= ceiling:
            why = f"Value must be between {low} and {ceiling} or equal to {also}"
            raise invalid(name, str(value), why, allowed)
        if value < low:
            raise invalid(name, str(value), f"Value must be at least {low}", allowed)
        if value > ceiling:
            raise invalid(name, str(value), f"Value must be no more than {ceiling}", allowed)
        return value

    return Kind(type_, parse, str, allowed)


def int_(low: int = -(2**31), high: int = INT_MAX, *, also: int | None = None) -> Kind:
    """A 32-bit whole number; `also` is one value outside the range that is accepted too."""
    return _number(SettingType.INT, low, high, also)


def short(low: int = -(2**15), high: int = 2**15 - 1) -> Kind:
    """A 16-bit whole number."""
    return _number(SettingType.SHORT, low, high)


def long(low: int = -(2**63), high: int = LONG_MAX) -> Kind:
    """A 64-bit whole number."""
    return _number(SettingType.LONG, low, high)


def double(low: float, high: float = float("inf")) -> Kind:
    """A number with a fraction."""
    bounded = high != float("inf")
    allowed = f"a number from {low:g} to {high:g}" if bounded else f"a number of at least {low:g}"

    def parse(name: str, text: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise invalid(name, text, "Not a number of type DOUBLE", allowed)
        value = float(text)
        if value < low:
            raise invalid(name, render_double(value), f"Value must be at least {low:g}", allowed)
        if value > high:
            raise invalid(name, render_double(value), f"Value must be no more than {high:g}", allowed)
        return value

    return Kind(SettingType.DOUBLE, parse, render_double, allowed)


def render_double(value: float) -> str:
    """Java's Double.toString: scientific with a capital E from ten million on and below a thousandth."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    digits, _, exponent = repr(abs(float(value))).partition("e")
    whole, _, fraction = digits.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    significant = (whole + fraction).lstrip("0")
    power -= len(whole + fraction) - len(significant)
    rest = significant[1:].rstrip("0") or "0"
    return f"{'-' if value < 0 else ''}{significant[0]}.{rest}E{power}"


def _parse_boolean(name: str, text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise invalid(name, text, "Expected value to be either true or false", "true or false")
    return lowered == "true"


BOOLEAN = Kind(SettingType.BOOLEAN, _parse_boolean, lambda value: str(value).lower(), "true or false")
STRING = Kind(SettingType.STRING, lambda _name, text: text, str, "any text")
PASSWORD = Kind(SettingType.PASSWORD, lambda _name, text: text, str, "any text, which is shown nowhere")


def one_of(*words: str) -> Kind:
    """One word out of a few."""
    allowed = ", ".join(words)

    def parse(name: str, text: str) -> str:
        if text not in words:
            raise invalid(name, text, f"String must be one of: {allowed}", f"one of {allowed}")
        return text

    return Kind(SettingType.STRING, parse, str, f"one of {allowed}")


def split_list(text: str) -> tuple[str, ...]:
    """A comma-separated list as Kafka splits it: blanks around commas do not count, empty text is empty."""
    return tuple(re.split(r"\s*,\s*", text)) if text else ()


def _join(items: Iterable[str]) -> str:
    return ",".join(items)


LIST = Kind(SettingType.LIST, lambda _name, text: split_list(text), _join, "a comma-separated list")


def words(*known: str) -> Kind:
    """Any of a few words, comma-separated. The order stays as it was given; a repeated word counts once."""
    allowed = f"a comma-separated list out of {', '.join(known)}"

    def parse(name: str, text: str) -> tuple[str, ...]:
        items = split_list(text)
        if "" in items:
            message = f"Configuration '{name}' values must not be empty."
            raise SettingError(message, setting=name, value=text, allowed=allowed)
        for item in items:
            if item not in known:
                raise invalid(name, item, f"String must be one of: {', '.join(known)}", allowed)
        return tuple(dict.fromkeys(items))

    return Kind(SettingType.LIST, parse, _join, allowed)


def _parse_throttled(name: str, text: str) -> tuple[str, ...]:
    items = split_list(text)
    if items == ("*",) or all(_THROTTLED_REPLICA.fullmatch(item) for item in items):
        return items
    why = f"{name} must be the literal '*' or a list of replicas in the following format: {_REPLICAS_FORM}"
    raise invalid(name, f"[{', '.join(items)}]", why, f"* or {_REPLICAS_FORM}")


THROTTLED_REPLICAS = Kind(SettingType.LIST, _parse_throttled, _join, f"* or {_REPLICAS_FORM}")


def _parse_counts(name: str, text: str) -> tuple[tuple[str, int], ...]:
    pairs = []
    for item in split_list(text):
        host, colon, count = item.rpartition(":")
        if not colon or not host or not _WHOLE_NUMBER.fullmatch(count.strip()):
            why = f"Error parsing configuration property '{name}': {item} is not host:number"
            raise invalid(name, text, why, "a comma-separated list of host:number")
        pairs.append((host.strip().strip("[]"), int(count)))
    return tuple(pairs)


COUNTS = Kind(
    SettingType.STRING,
    _parse_counts,
    lambda value: _join(f"{host}:{count}" for host, count in value),
    "a comma-separated list of host:number",
)
