"""MASK and its kin: letters and digits replaced, so that a text keeps its form and not its content."""

from __future__ import annotations

from collections.abc import Callable

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.registry import Functions

define = Functions()

Mask = str | None


def _character(character: str, upper: Mask, lower: Mask, digit: Mask, other: Mask) -> str:
    if character.isupper():
        mask = upper
    elif character.islower():
        mask = lower
    elif character.isdecimal():
        mask = digit
    else:
        mask = other
    return character if mask is None else mask


def _masked(text: str, masks: tuple[Mask, ...]) -> str:
    upper, lower, digit, other = (mask[:1] if mask else mask for mask in masks)
    return "".join(_character(character, upper, lower, digit, other) for character in text)


def _checked(count: int | None) -> int:
    if count is None or count < 0:
        raise EvaluationFailed(f"{count} is no number of characters: give one that is not negative")
    return count


DEFAULT: tuple[Mask, ...] = ("X", "x", "n", "-")


@define("MASK(STRING) -> STRING", "MASK(STRING, STRING, STRING, STRING, STRING) -> STRING", nulls=True)
def mask(text: str | None, *masks: Mask) -> str | None:
    """Letters as X or x, digits as n, all else as -; a null mask keeps its kind."""
    return None if text is None else _masked(text, masks or DEFAULT)


def _named(name: str, apply: Callable[[str, int, tuple[Mask, ...]], str], words: str) -> None:
    def function(text: str | None, count: int | None, *masks: Mask) -> str | None:
        return None if text is None else apply(text, _checked(count), masks or DEFAULT)

    function.__doc__ = words
    short = f"{name}(STRING, INT) -> STRING"
    define(short, f"{name}(STRING, INT, STRING, STRING, STRING, STRING) -> STRING", nulls=True)(function)


_named(
    "MASK_LEFT", lambda text, n, m: _masked(text[:n], m) + text[n:], "Masks so many characters from the left."
)
_named(
    "MASK_RIGHT",
    lambda text, n, m: text[: max(len(text) - n, 0)] + _masked(text[max(len(text) - n, 0) :], m),
    "Masks so many characters from the right.",
)
_named(
    "MASK_KEEP_LEFT",
    lambda text, n, m: text[:n] + _masked(text[n:], m),
    "Masks all but so many characters from the left.",
)
_named(
    "MASK_KEEP_RIGHT",
    lambda text, n, m: _masked(text[: max(len(text) - n, 0)], m) + text[max(len(text) - n, 0) :],
    "Masks all but so many characters from the right.",
)
