"""Whether a reader's JSON schema accepts whatever a writer's accepts: Confluent's rules, strict policy.

Results are kept for each pair of schemas, so that definitions that refer to each other are compared once. A
pair within itself is taken as compatible; when that turns out wrong, the comparison is made again knowing it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.schemas.differences import Budget, Difference
from penstock.schemas.json_schema import arrays, objects
from penstock.schemas.json_schema.limits import compare_numbers, compare_strings
from penstock.schemas.json_schema.matching import largest_matching
from penstock.schemas.json_schema.places import Place
from penstock.schemas.json_schema.reasons import below, difference
from penstock.schemas.json_schema.shapes import ALL, ANY, EMPTY, FALSE, ONE, Shape, Shapes

Pair = tuple[int, int]
_SIMPLE: Final[dict[str, Callable[[Shape, Shape], list[Difference]]]] = {
    "string": compare_strings,
    "number": compare_numbers,
}


def compare(reader: Place, writer: Place) -> list[Difference]:
    """Every reason why a value that fits the writer may not fit the reader."""
    budget, shapes = Budget(), Shapes()
    wrong: dict[Pair, list[Difference]] = {}
    while True:
        comparison = Comparison(shapes, budget, wrong)
        found = comparison.compare(writer, reader)
        incompatible = {pair: each for pair, each in comparison.results.items() if each}
        if not comparison.assumed or incompatible.keys() == wrong.keys():
            return found
        wrong = incompatible


class Comparison:
    def __init__(self, shapes: Shapes, budget: Budget, wrong: dict[Pair, list[Difference]]) -> None:
        self.shapes = shapes
        self.results: dict[Pair, list[Difference]] = {}
        self.assumed = False
        """Whether a pair within itself was taken as compatible."""
        self._budget = budget
        self._wrong = wrong
        self._under_way: set[Pair] = set()
        self._kept: list[Shape] = []
        """Keeps shapes alive: pairs are known by identity."""

    def compare(self, writer: Place | Shape, reader: Place | Shape) -> list[Difference]:
        old, new = self.shapes.of(writer), self.shapes.of(reader)
        pair = id(old), id(new)
        if pair in self._under_way:
            self.assumed = True
            return self._wrong.get(pair, [])
        if pair not in self.results:
            self._budget.spend()
            self._kept += [old, new]
            self._under_way.add(pair)
            self.results[pair] = self._compare(old, new)
            self._under_way.discard(pair)
        return self.results[pair]

    def optional(self, writer: Place | None, reader: Place | None) -> list[Difference]:
        """A schema that may be missing: it may go, but not come."""
        if reader is None:
            return []
        return [difference("SCHEMA_ADDED", "#")] if writer is None else self.compare(writer, reader)

    def _compare(self, old: Shape, new: Shape) -> list[Difference]:
        if self._is_one_of_a_combination(old, new):
            return []
        if old.kind != new.kind:
            if old.kind == FALSE or new.kind == EMPTY or _both_bytes(old, new):
                return []
            return [difference("TYPE_CHANGED", "#")]
        if old.kind in _SIMPLE:
            return _SIMPLE[old.kind](old, new)
        match old.kind:
            case "object":
                return objects.compare(self, old, new)
            case "array":
                return arrays.compare(self, old, new)
            case "combined":
                return self._combinations(old, new)
            case "enum":
                return _enums(old, new)
            case "const":
                same = old.get("const") == new.get("const")
                return [] if same else [difference("ENUM_ARRAY_CHANGED", "#/const")]
            case "not":
                return self._negations(old, new)
            case "conditional":
                return self._conditions(old, new)
        return []

    def _is_one_of_a_combination(self, old: Shape, new: Shape) -> bool:
        """A schema beside a combination: one alternative that fits is enough, or one condition."""
        if new.kind == "combined" and old.kind != "combined":
            if len(new.parts) == 1 or new.criterion in (ANY, ONE):
                return any(not self.compare(old, part) for part in new.parts)
        elif (
            old.kind == "combined"
            and new.kind != "combined"
            and (len(old.parts) == 1 or old.criterion == ALL)
        ):
            return any(not self.compare(part, new) for part in old.parts)
        return False

    def _combinations(self, old: Shape, new: Shape) -> list[Difference]:
        if not _criteria_agree(old, new):
            return [difference("COMBINED_TYPE_CHANGED", "#")]
        olds, news = _distinct(old), _distinct(new)
        found: list[Difference] = []
        if len(olds) < len(news) and new.criterion == ALL:
            found.append(difference("PRODUCT_TYPE_EXTENDED", "#"))
        if len(olds) > len(news) and old.criterion in (ANY, ONE):
            found.append(difference("SUM_TYPE_NARROWED", "#"))
        edges = [[at for at, part in enumerate(news) if not self.compare(each, part)] for each in olds]
        if largest_matching(edges) < min(len(olds), len(news)):
            found.append(difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#"))
        return found

    def _negations(self, old: Shape, new: Shape) -> list[Difference]:
        """What must not be may become less."""
        inner_old, inner_new = old.schema("not"), new.schema("not")
        if inner_old is None or inner_new is None or not self.compare(inner_new, inner_old):
            return []
        return [difference("NOT_TYPE_EXTENDED", "#/not")]

    def _conditions(self, old: Shape, new: Shape) -> list[Difference]:
        found: list[Difference] = []
        for keyword in ("if", "then", "else"):
            found += below(keyword, self.optional(old.schema(keyword), new.schema(keyword)))
        return found


def _criteria_agree(old: Shape, new: Shape) -> bool:
    single_old, single_new = len(old.parts) == 1, len(new.parts) == 1
    return (
        old.criterion == new.criterion
        or new.criterion == ANY
        or (single_old and (single_new or new.criterion == ONE))
        or (single_new and old.criterion == ALL)
    )


def _distinct(shape: Shape) -> list[Place | Shape]:
    """The parts of a combination, each once."""
    kept: list[Place | Shape] = []
    seen: list[object] = []
    for part in shape.parts:
        told: object = (part.kind, part.criterion, part.integer) if isinstance(part, Shape) else part.value
        if told not in seen:
            seen.append(told)
            kept.append(part)
    return kept


def _enums(old: Shape, new: Shape) -> list[Difference]:
    before, after = (list(each.get("enum") or []) for each in (old, new))
    if all(value in after for value in before):
        return []
    kind = "ENUM_ARRAY_NARROWED" if all(value in before for value in after) else "ENUM_ARRAY_CHANGED"
    return [difference(kind, "#/enum")]


def _both_bytes(old: Shape, new: Shape) -> bool:
    """Connect writes decimals as one type or another, and calls both bytes."""
    return bool(old.get("connect.type") == "bytes" == new.get("connect.type"))
