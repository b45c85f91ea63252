"""`contains`: how many items of an array must fit a schema, and how many may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.schemas.differences import Difference
from penstock.schemas.json_schema.reasons import below, difference
from penstock.schemas.json_schema.shapes import Shape

if TYPE_CHECKING:
    from penstock.schemas.json_schema.compatibility import Comparison


def contains(comparison: Comparison, old: Shape, new: Shape) -> list[Difference]:
    """Bounds without `contains` say nothing. A least number that is not named is one."""
    before, after = old.schema("contains"), new.schema("contains")
    if after is None:
        return []
    least, most = _bound(new, "minContains", 1), _bound(new, "maxContains", None)
    if before is None:
        return [difference("CONTAINS_ADDED", "#/contains")] if least or most is not None else []
    found: list[Difference] = []
    old_least, old_most = _bound(old, "minContains", 1), _bound(old, "maxContains", None)
    if least > old_least:
        found.append(difference("MIN_CONTAINS_INCREASED", "#/minContains"))
    if most is not None and (old_most is None or most < old_most):
        kind = "MAX_CONTAINS_ADDED" if old_most is None else "MAX_CONTAINS_DECREASED"
        found.append(difference(kind, "#/maxContains"))
    if least and (inner := comparison.compare(before, after)):
        found += [*below("contains", inner), difference("CONTAINS_NARROWED", "#/contains")]
    if most is not None and comparison.compare(after, before):
        found.append(difference("CONTAINS_EXTENDED", "#/contains"))
    return found


def _bound(shape: Shape, keyword: str, default: Any) -> Any:
    value = shape.get(keyword)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else default
