"""Content models: what an object or an array allows besides the properties or items that it names.

Open: anything. Closed: nothing. Partially open: what fits a schema.
"""

from __future__ import annotations

from typing import Any

import re2  # type: ignore[import-untyped]

from penstock.schemas.json_schema.places import Place
from penstock.schemas.json_schema.shapes import Shape


def is_open_object(shape: Shape) -> bool:
    return (
        not shape.get("patternProperties")
        and _permits_all(shape.get("additionalProperties"))
        and _permits_all(_unevaluated(shape, "unevaluatedProperties"), also_empty=True)
    )


def covering_object(shape: Shape, name: str) -> Place | None:
    """The schema that a property which is not named must fit in a partially open object."""
    for pattern, place in shape.schemas("patternProperties").items():
        if _matches(pattern, name):
            return place
    return _covering(shape, "additionalProperties", "unevaluatedProperties")


def named_items(shape: Shape) -> list[Place]:
    """The schemas of the first items, one each: `prefixItems`, or the list that `items` was."""
    value = shape.get("prefixItems")
    value = shape.get("items") if value is None else value
    return [shape.place.at(each) for each in value] if isinstance(value, list) else []


def all_items(shape: Shape) -> Place | None:
    """The one schema of all items."""
    return None if shape.get("prefixItems") is not None else shape.schema("items")


def additional_items(shape: Shape) -> Any:
    return shape.get("items") if shape.get("prefixItems") is not None else shape.get("additionalItems")


def is_open_array(shape: Shape) -> bool:
    return _permits_all(additional_items(shape)) and _permits_all(
        _unevaluated(shape, "unevaluatedItems"), also_empty=True
    )


def covering_array(shape: Shape) -> Place | None:
    keyword = "items" if shape.get("prefixItems") is not None else "additionalItems"
    return _covering(shape, keyword, "unevaluatedItems")


def _covering(shape: Shape, keyword: str, unevaluated: str) -> Place | None:
    if isinstance(shape.get(keyword), dict):
        return shape.schema(keyword)
    rest = shape.get(unevaluated)
    return (
        shape.schema(unevaluated)
        if isinstance(rest, dict) and rest and shape.get(keyword) is not False
        else None
    )


def _unevaluated(shape: Shape, keyword: str) -> Any:
    return shape.get(keyword)


def _permits_all(value: Any, *, also_empty: bool = False) -> bool:
    return value is None or value is True or (also_empty and value == {})


def _matches(pattern: str, name: str) -> bool:
    """In linear time; a pattern beyond that (a look-ahead, a back reference) covers nothing."""
    try:
        return re2.search(pattern, name) is not None
    except re2.error:
        return False
