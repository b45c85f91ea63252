"""Keywords that bound a value: lengths, sizes, ranges, patterns. Only what narrows a schema is told."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.schemas.differences import Difference
from penstock.schemas.json_schema.reasons import difference
from penstock.schemas.json_schema.shapes import Shape


def compare_maximum(writer: Shape, reader: Shape, keyword: str, name: str) -> list[Difference]:
    """A bound from above may go or grow."""
    old, new = _number(writer.get(keyword)), _number(reader.get(keyword))
    if new is None or old == new or (old is not None and old < new):
        return []
    return [difference(f"{name}_{'ADDED' if old is None else 'DECREASED'}", f"#/{keyword}")]


def compare_minimum(writer: Shape, reader: Shape, keyword: str, name: str) -> list[Difference]:
    """A bound from below may go or shrink."""
    old, new = _number(writer.get(keyword)), _number(reader.get(keyword))
    if new is None or old == new or (old is not None and old > new):
        return []
    return [difference(f"{name}_{'ADDED' if old is None else 'INCREASED'}", f"#/{keyword}")]


def compare_strings(writer: Shape, reader: Shape) -> list[Difference]:
    found = compare_maximum(writer, reader, "maxLength", "MAX_LENGTH")
    found += compare_minimum(writer, reader, "minLength", "MIN_LENGTH")
    old, new = writer.get("pattern"), reader.get("pattern")
    if new is not None and new != old:
        found.append(difference("PATTERN_ADDED" if old is None else "PATTERN_CHANGED", "#/pattern"))
    return found


def compare_numbers(writer: Shape, reader: Shape) -> list[Difference]:
    found = compare_maximum(writer, reader, "maximum", "MAXIMUM")
    found += compare_minimum(writer, reader, "minimum", "MINIMUM")
    found += compare_maximum(writer, reader, "exclusiveMaximum", "EXCLUSIVE_MAXIMUM")
    found += compare_minimum(writer, reader, "exclusiveMinimum", "EXCLUSIVE_MINIMUM")
    found += _multiples(writer.get("multipleOf"), reader.get("multipleOf"))
    if reader.integer and not writer.integer:
        found.append(difference("TYPE_NARROWED", "#"))
    return found


def _multiples(old: Any, new: Any) -> list[Difference]:
    if new is None or old == new:
        return []
    if old is None:
        return [difference("MULTIPLE_OF_ADDED", "#/multipleOf")]
    if _divides(new, old):
        return []
    kind = "MULTIPLE_OF_EXPANDED" if _divides(old, new) else "MULTIPLE_OF_CHANGED"
    return [difference(kind, "#/multipleOf")]


def _divides(part: Any, whole: Any) -> bool:
    try:
        return Decimal(str(whole)) % Decimal(str(part)) == 0
    except (InvalidOperation, ZeroDivisionError):
        return False


def _number(value: Any) -> float | int | None:
    """A bound; draft 4 writes exclusive bounds as true and false, which are none by themselves."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
