"""What a JSON schema says, as one shape: a type with its keywords, a combination, all or nothing.

A schema may say several things at once (a type, an enum, an anyOf): it is then the combination of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from penstock.schemas.json_schema.places import Place, resolve

ALL, ANY, ONE = "allOf", "anyOf", "oneOf"
EMPTY, FALSE = "empty", "false"
_TYPES: Final = ("string", "number", "integer", "boolean", "null", "array", "object")
_SIGNS: Final = {
    "object": (
        "properties", "required", "additionalProperties", "minProperties", "maxProperties",
        "patternProperties", "dependencies", "dependentRequired", "dependentSchemas", "propertyNames",
        "unevaluatedProperties",
    ),
    "array": (
        "items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "prefixItems",
        "unevaluatedItems",
    ),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format"),
}  # fmt: skip
"""Keywords that imply a type where the schema names none."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    kind: str
    """empty, false, a type of JSON (integer is number, too), enum, const, not, conditional, combined."""
    place: Place
    criterion: str = ""
    """allOf, anyOf or oneOf of a combination."""
    parts: tuple[Place | Shape, ...] = ()
    integer: bool = False

    def get(self, keyword: str) -> Any:
        return self.place.value.get(keyword)

    def schema(self, keyword: str) -> Place | None:
        """The schema under a keyword, if there is one."""
        value = self.get(keyword)
        return self.place.at(value) if isinstance(value, dict | bool) else None

    def schemas(self, keyword: str) -> dict[str, Place]:
        """The schemas under a keyword that holds them by name."""
        value = self.get(keyword)
        return {name: self.place.at(each) for name, each in value.items()} if isinstance(value, dict) else {}


class Shapes:
    """Finds the shape of a place; the same place has always the same shape."""

    def __init__(self) -> None:
        self._known: dict[int, Shape] = {}

    def of(self, place: Place | Shape) -> Shape:
        if isinstance(place, Shape):
            return place
        place = resolve(place)
        key = id(place.value)
        if isinstance(place.value, bool):
            return Shape(EMPTY if place.value else FALSE, place.at({}))
        if key not in self._known:
            self._known[key] = _shape(place)
        return self._known[key]


def _shape(place: Place) -> Shape:
    said = list(_said(place))
    if not said:
        return Shape(EMPTY, place)
    return said[0] if len(said) == 1 else Shape("combined", place, ALL, tuple(said))


def _said(place: Place) -> Iterator[Shape]:
    value = place.value
    yield from _types(place)
    for keyword in ("enum", "const", "not"):
        if keyword in value:
            yield Shape(keyword, place)
    if "if" in value:
        yield Shape("conditional", place)
    for criterion in (ALL, ANY, ONE):
        parts = value.get(criterion)
        if isinstance(parts, list) and parts:
            yield Shape("combined", place, criterion, tuple(place.at(part) for part in parts))


def _types(place: Place) -> Iterator[Shape]:
    named = place.value.get("type")
    if isinstance(named, list):
        kinds = [each for each in named if each in _TYPES]
        if len(kinds) == 1:
            yield _typed(kinds[0], place)
        elif kinds:
            yield Shape("combined", place, ANY, tuple(_typed(kind, place) for kind in kinds))
    elif named in _TYPES:
        yield _typed(named, place)
    else:
        for kind, signs in _SIGNS.items():
            if any(sign in place.value for sign in signs):
                yield _typed(kind, place)


def _typed(kind: str, place: Place) -> Shape:
    return Shape("number" if kind == "integer" else kind, place, integer=kind == "integer")
