"""Objects: properties in open, closed and partially open content models, what is required, dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.schemas.differences import Difference
from penstock.schemas.json_schema.content import covering_object, is_open_object
from penstock.schemas.json_schema.limits import compare_maximum, compare_minimum
from penstock.schemas.json_schema.places import Place
from penstock.schemas.json_schema.reasons import below, difference
from penstock.schemas.json_schema.shapes import EMPTY, FALSE, Shape

if TYPE_CHECKING:
    from penstock.schemas.json_schema.compatibility import Comparison


def compare(comparison: Comparison, old: Shape, new: Shape) -> list[Difference]:
    found = _required(comparison, old, new)
    olds, news = old.schemas("properties"), new.schemas("properties")
    for name in (*olds, *(each for each in news if each not in olds)):
        found += below(f"properties/{name}", _property(comparison, old, new, name))
    found += below("patternProperties", _patterns(comparison, old, new))
    found += below("dependencies", _dependencies(comparison, old, new))
    found += below("additionalProperties", rest(comparison, old, new, "additionalProperties"))
    found += below("unevaluatedProperties", unevaluated(comparison, old, new, "unevaluatedProperties"))
    found += compare_maximum(old, new, "maxProperties", "MAX_PROPERTIES")
    return found + compare_minimum(old, new, "minProperties", "MIN_PROPERTIES")


def rest(comparison: Comparison, old: Shape, new: Shape, keyword: str) -> list[Difference]:
    """`additionalProperties` or `additionalItems`: missing means that all is allowed."""
    name = "ADDITIONAL_PROPERTIES" if keyword == "additionalProperties" else "ADDITIONAL_ITEMS"
    before, after = old.get(keyword), new.get(keyword)
    if (before is not False) and (after is False):
        return [difference(f"{name}_REMOVED", "#")]
    if before is not False and not isinstance(before, dict) and isinstance(after, dict):
        return [difference(f"{name}_NARROWED", "#")]
    if isinstance(before, dict) and isinstance(after, dict):
        return comparison.compare(old.place.at(before), new.place.at(after))
    return []


def unevaluated(comparison: Comparison, old: Shape, new: Shape, keyword: str) -> list[Difference]:
    """What no other keyword has looked at; missing or true means that all is allowed."""
    name = "UNEVALUATED_PROPERTIES" if keyword == "unevaluatedProperties" else "UNEVALUATED_ITEMS"
    before, after = old.get(keyword), new.get(keyword)
    if after is None or after is True or after == {}:
        return []
    if after is False:
        return [] if before is False else [difference(f"{name}_REMOVED", "#")]
    if before is False:
        return []
    if not isinstance(before, dict) or not before:
        return [difference(f"{name}_NARROWED", "#")]
    return comparison.compare(old.place.at(before), new.place.at(after))


def _required(comparison: Comparison, old: Shape, new: Shape) -> list[Difference]:
    """A property that only the reader names is told by `_added`."""
    before = set(old.get("required") or ())
    olds, news = old.schemas("properties"), new.schemas("properties")
    return [
        difference("REQUIRED_ATTRIBUTE_ADDED", f"#/required/{name}")
        for name in new.get("required") or ()
        if name not in before
        and (name in olds or name not in news)
        and not (name in news and _has_default(comparison, news[name]))
    ]


def _property(comparison: Comparison, old: Shape, new: Shape, name: str) -> list[Difference]:
    before, after = old.schemas("properties").get(name), new.schemas("properties").get(name)
    if before is not None and after is not None:
        return comparison.compare(before, after)
    if before is not None:
        return _removed(comparison, before, new, name)
    assert after is not None
    return _added(comparison, old, after, new, name)


def _removed(comparison: Comparison, before: Place, new: Shape, name: str) -> list[Difference]:
    if is_open_object(new):
        return []
    covering = covering_object(new, name)
    if covering is not None:
        found = comparison.compare(before, covering)
        kind = "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
        return [*found, difference(kind, "#")] if found else []
    if comparison.shapes.of(before).kind == FALSE:
        return []
    return [difference("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#")]


def _added(comparison: Comparison, old: Shape, after: Place, new: Shape, name: str) -> list[Difference]:
    required = name in (new.get("required") or ())
    if is_open_object(old):
        if comparison.shapes.of(after).kind == EMPTY:
            return []
        if not required:
            return [difference("OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "#")]
        default = "_WITH_DEFAULT" if _has_default(comparison, after) else ""
        return [difference(f"REQUIRED_PROPERTY{default}_ADDED_TO_OPEN_CONTENT_MODEL", "#")]
    found: list[Difference] = []
    covering = covering_object(old, name)
    if covering is not None and (inner := comparison.compare(covering, after)):
        found += [*inner, difference("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#")]
    if required and not _has_default(comparison, after):
        found.append(difference("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", "#"))
    return found


def _patterns(comparison: Comparison, old: Shape, new: Shape) -> list[Difference]:
    """A pattern of the writer must be one of the reader's, with a schema that is as wide, unless the reader
    allows what the pattern matches anyway.
    """
    news = new.schemas("patternProperties")
    found: list[Difference] = []
    for pattern, before in old.schemas("patternProperties").items():
        if pattern in news:
            found += below(pattern, comparison.compare(before, news[pattern]))
        elif new.get("additionalProperties") is False:
            found.append(difference("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", f"#/{pattern}"))
    return found


def _has_default(comparison: Comparison, place: Place) -> bool:
    value = place.value
    return isinstance(value, dict) and (
        "default" in value or "default" in comparison.shapes.of(place).place.value
    )


def _dependencies(comparison: Comparison, old: Shape, new: Shape) -> list[Difference]:
    """Names that one name brings along, and the schema that an object with a name must fit."""
    arrays, schemas = (_all_dependencies(old, lists=lists) for lists in (True, False))
    found: list[Difference] = []
    for name, after in _all_dependencies(new, lists=True).items():
        found += below(name, _dependency_array(arrays.get(name), after))
    for name, after in _all_dependencies(new, lists=False).items():
        before = schemas.get(name)
        if before is None:
            inner = [difference("DEPENDENCY_SCHEMA_ADDED", "#")]
        else:
            inner = comparison.compare(old.place.at(before), new.place.at(after))
        found += below(name, inner)
    return found


def _dependency_array(before: Any, after: list[Any]) -> list[Difference]:
    if before is None:
        return [difference("DEPENDENCY_ARRAY_ADDED", "#")]
    if set(after) <= set(before):
        return []
    kind = "DEPENDENCY_ARRAY_EXTENDED" if set(before) <= set(after) else "DEPENDENCY_ARRAY_CHANGED"
    return [difference(kind, "#")]


def _all_dependencies(shape: Shape, *, lists: bool) -> dict[str, Any]:
    """Lists of names, or schemas, under the keywords of all drafts."""
    found: dict[str, Any] = {}
    for keyword in ("dependencies", "dependentRequired" if lists else "dependentSchemas"):
        value = shape.get(keyword)
        if isinstance(value, dict):
            found |= {name: each for name, each in value.items() if isinstance(each, list) == lists}
    return found
