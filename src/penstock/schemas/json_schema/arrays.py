"""Arrays: one schema for all items, a schema for each of the first, and what may follow them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.schemas.differences import Difference
from penstock.schemas.json_schema.containing import contains
from penstock.schemas.json_schema.content import all_items, covering_array, is_open_array, named_items
from penstock.schemas.json_schema.limits import compare_maximum, compare_minimum
from penstock.schemas.json_schema.objects import rest, unevaluated
from penstock.schemas.json_schema.places import Place
from penstock.schemas.json_schema.reasons import below, difference
from penstock.schemas.json_schema.shapes import EMPTY, FALSE, Shape

if TYPE_CHECKING:
    from penstock.schemas.json_schema.compatibility import Comparison


def compare(comparison: Comparison, old: Shape, new: Shape) -> list[Difference]:
    found = below("items", comparison.optional(all_items(old), all_items(new)))
    olds, news = named_items(old), named_items(new)
    for at in range(max(len(olds), len(news))):
        found += below(f"items/{at}", _item(comparison, old, olds[at : at + 1], new, news[at : at + 1]))
    keyword = "items" if old.get("prefixItems") is not None or new.get("prefixItems") is not None else ""
    found += below("additionalItems", rest(comparison, old, new, keyword or "additionalItems"))
    found += below("unevaluatedItems", unevaluated(comparison, old, new, "unevaluatedItems"))
    found += compare_maximum(old, new, "maxItems", "MAX_ITEMS")
    found += compare_minimum(old, new, "minItems", "MIN_ITEMS")
    if new.get("uniqueItems") is True and old.get("uniqueItems") is not True:
        found.append(difference("UNIQUE_ITEMS_ADDED", "#/uniqueItems"))
    return found + contains(comparison, old, new)


def _item(
    comparison: Comparison, old: Shape, before: list[Place], new: Shape, after: list[Place]
) -> list[Difference]:
    if before and after:
        return comparison.compare(before[0], after[0])
    return _removed(comparison, before[0], new) if before else _added(comparison, old, after[0])


def _removed(comparison: Comparison, before: Place, new: Shape) -> list[Difference]:
    if is_open_array(new):
        return []
    covering = covering_array(new)
    if covering is not None:
        found = comparison.compare(before, covering)
        kind = "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
        return [*found, difference(kind, "#")] if found else []
    if comparison.shapes.of(before).kind == FALSE:
        return []
    return [difference("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#")]


def _added(comparison: Comparison, old: Shape, after: Place) -> list[Difference]:
    if is_open_array(old):
        empty = comparison.shapes.of(after).kind == EMPTY
        return [] if empty else [difference("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", "#")]
    covering = covering_array(old)
    found = comparison.compare(covering, after) if covering is not None else []
    kind = "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return [*found, difference(kind, "#")] if found else []
