"""Functions of ARRAYs and MAPs, with lambdas. An item is equal to another as its Python value is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.expressions import types as t
from penstock.expressions.comparing import utf16
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.registry import Bound, Functions, Implementation
from penstock.expressions.java_text import text_of

define = Functions()

MAX_SERIES = 1_000_000
"""Items that GENERATE_SERIES makes at most."""

Items = list[Any]


def _distinct(items: Iterable[Any]) -> Items:
    """Without repetitions, in order; items may be lists and dicts, which have no hash."""
    seen: dict[Any, None] = {}
    others: Items = []
    result: Items = []
    for item in items:
        try:
            if item in seen:
                continue
            seen[item] = None
        except TypeError:
            if item in others:
                continue
            others.append(item)
        result.append(item)
    return result


@define("ARRAY_CONCAT(ARRAY<T>, ARRAY<T>) -> ARRAY<T>", nulls=True)
def array_concat(left: Items | None, right: Items | None) -> Items | None:
    """Both arrays, one behind the other; null if both are."""
    if left is None and right is None:
        return None
    return [*(left or []), *(right or [])]


@define("ARRAY_CONTAINS(ARRAY<T>, T) -> BOOLEAN", nulls=True)
def array_contains(items: Items | None, value: Any) -> bool | None:
    """Whether an item is equal."""
    return None if items is None else value in items


@define("ARRAY_DISTINCT(ARRAY<T>) -> ARRAY<T>")
def array_distinct(items: Items) -> Items:
    """Each item once."""
    return _distinct(items)


@define("ARRAY_EXCEPT(ARRAY<T>, ARRAY<T>) -> ARRAY<T>")
def array_except(left: Items, right: Items) -> Items:
    """Each item of the first array once that is not in the second."""
    return [item for item in _distinct(left) if item not in right]


@define("ARRAY_INTERSECT(ARRAY<T>, ARRAY<T>) -> ARRAY<T>")
def array_intersect(left: Items, right: Items) -> Items:
    """Each item once that is in both arrays."""
    return [item for item in _distinct(left) if item in right]


@define("ARRAY_UNION(ARRAY<T>, ARRAY<T>) -> ARRAY<T>")
def array_union(left: Items, right: Items) -> Items:
    """Each item of both arrays once."""
    return _distinct([*left, *right])


@define("ARRAY_REMOVE(ARRAY<T>, T) -> ARRAY<T>", nulls=True)
def array_remove(items: Items | None, value: Any) -> Items | None:
    """Without the items that are equal."""
    return None if items is None else [item for item in items if item != value]


@define("ARRAY_LENGTH(ARRAY<T>) -> INT")
def array_length(items: Items) -> int:
    """The number of items."""
    return len(items)


@define.bound("ARRAY_JOIN(ARRAY<T>) -> STRING", "ARRAY_JOIN(ARRAY<T>, STRING) -> STRING", nulls=True)
def array_join(bound: Bound) -> Implementation:
    """The items as text, with a delimiter between them; a comma if none is given."""
    kind = bound.arguments[0]
    assert isinstance(kind, t.Array)
    if isinstance(kind.item, t.Array | t.Map | t.Struct):
        raise EvaluationFailed("ARRAY_JOIN takes items of simple types only")
    item = kind.item

    def join(items: Items | None, delimiter: str | None = ",") -> str | None:
        if items is None:
            return None
        return (delimiter or "").join("null" if each is None else text_of(each, item) for each in items)

    return join


def _order(kind: t.SqlType) -> Callable[[Any], Any]:
    item = kind.item if isinstance(kind, t.Array) else kind
    return utf16 if item == t.STRING else lambda value: value


@define.bound("ARRAY_MAX(ARRAY<T>) -> T")
def array_max(bound: Bound) -> Implementation:
    """The largest item; nulls do not count."""
    order = _order(bound.arguments[0])
    return lambda items: max((item for item in items if item is not None), key=order, default=None)


@define.bound("ARRAY_MIN(ARRAY<T>) -> T")
def array_min(bound: Bound) -> Implementation:
    """The smallest item; nulls do not count."""
    order = _order(bound.arguments[0])
    return lambda items: min((item for item in items if item is not None), key=order, default=None)


@define.bound("ARRAY_SORT(ARRAY<T>) -> ARRAY<T>", "ARRAY_SORT(ARRAY<T>, STRING) -> ARRAY<T>")
def array_sort(bound: Bound) -> Implementation:
    """The items in order, ASC or DESC; nulls come last."""
    order = _order(bound.arguments[0])

    def sort(items: Items, direction: str = "ASC") -> Items | None:
        if direction.upper() not in ("ASC", "ASCENDING", "DESC", "DESCENDING"):
            return None
        known = sorted((item for item in items if item is not None), key=order)
        if direction.upper().startswith("DESC"):
            known.reverse()
        return [*known, *(None for item in items if item is None)]

    return sort


@define("SLICE(ARRAY<T>, INT, INT) -> ARRAY<T>", nulls=True)
def slice_(items: Items | None, begin: int | None, end: int | None) -> Items | None:
    """The items from one place to another, both counted from 1 and included."""
    if items is None:
        return None
    first = 1 if begin is None else begin
    last = len(items) if end is None else end
    if first < 1 or last > len(items) or first > last + 1:
        raise EvaluationFailed(f"There are no items {first} to {last} in an array of {len(items)}")
    return items[first - 1 : last]


@define(
    "GENERATE_SERIES(INT, INT) -> ARRAY<INT>",
    "GENERATE_SERIES(INT, INT, INT) -> ARRAY<INT>",
    "GENERATE_SERIES(BIGINT, BIGINT) -> ARRAY<BIGINT>",
    "GENERATE_SERIES(BIGINT, BIGINT, INT) -> ARRAY<BIGINT>",
)
def generate_series(start: int, end: int, step: int | None = None) -> Items:
    """The numbers from start to end, both included, by steps of 1 or of a given size."""
    if step is None:
        step = 1 if end >= start else -1
    if step == 0:
        raise EvaluationFailed("GENERATE_SERIES step cannot be zero")
    if (end > start and step < 0) or (end < start and step > 0):
        raise EvaluationFailed("GENERATE_SERIES step has wrong sign")
    series = range(start, end + (1 if step > 0 else -1), step)
    if len(series) > MAX_SERIES:
        raise EvaluationFailed(f"GENERATE_SERIES makes at most {MAX_SERIES} items: take larger steps")
    return list(series)


@define.bound("ENTRIES(MAP<STRING, V>, BOOLEAN) -> ARRAY<STRUCT<K STRING, V V>>")
def entries(bound: Bound) -> Implementation:
    """The entries of a map as structs of K and V, sorted by key if asked for."""

    def make(given: dict[str, Any], in_order: bool) -> Items:
        keys = sorted(given, key=utf16) if in_order else list(given)
        return [{"K": key, "V": given[key]} for key in keys]

    return make


@define("AS_MAP(ARRAY<STRING>, ARRAY<V>) -> MAP<STRING, V>")
def as_map(keys: Items, values: Items) -> dict[Any, Any]:
    """A map of keys and values in pairs; what has no partner is left out."""
    return dict(zip(keys, values, strict=False))


@define("MAP_KEYS(MAP<K, V>) -> ARRAY<K>")
def map_keys(given: dict[Any, Any]) -> Items:
    """The keys of a map."""
    return list(given)


@define("MAP_VALUES(MAP<K, V>) -> ARRAY<V>")
def map_values(given: dict[Any, Any]) -> Items:
    """The values of a map."""
    return list(given.values())


@define("MAP_UNION(MAP<K, V>, MAP<K, V>) -> MAP<K, V>", nulls=True)
def map_union(left: dict[Any, Any] | None, right: dict[Any, Any] | None) -> dict[Any, Any] | None:
    """The entries of both maps; the second one's count where both have a key."""
    return None if left is None and right is None else {**(left or {}), **(right or {})}


# Lambdas


@define("TRANSFORM(ARRAY<T>, LAMBDA(T) -> U) -> ARRAY<U>")
def transform(items: Items, function: Callable[[Any], Any]) -> Items:
    """What a lambda gives for each item; of a map, one lambda for keys and one for values."""
    return [function(item) for item in items]


@define("TRANSFORM(MAP<K, V>, LAMBDA(K, V) -> A, LAMBDA(K, V) -> B) -> MAP<A, B>")
def transform_map(
    given: dict[Any, Any], keys: Callable[..., Any], values: Callable[..., Any]
) -> dict[Any, Any]:
    """What two lambdas give for each key and value."""
    made = [(keys(key, value), values(key, value)) for key, value in given.items()]
    if len({key for key, _ in made}) < len(made):
        raise EvaluationFailed("Two keys of the map became one")
    return dict(made)


@define("FILTER(ARRAY<T>, LAMBDA(T) -> BOOLEAN) -> ARRAY<T>")
def filter_(items: Items, function: Callable[[Any], Any]) -> Items:
    """The items, or entries of a map, for which a lambda is true."""
    return [item for item in items if _true(function(item))]


@define("FILTER(MAP<K, V>, LAMBDA(K, V) -> BOOLEAN) -> MAP<K, V>")
def filter_map(given: dict[Any, Any], function: Callable[..., Any]) -> dict[Any, Any]:
    """The entries for which a lambda is true."""
    return {key: value for key, value in given.items() if _true(function(key, value))}


def _true(value: Any) -> bool:
    if value is None:
        raise EvaluationFailed("the lambda of FILTER gave null")
    return bool(value)


@define("REDUCE(ARRAY<T>, S, LAMBDA(S, T) -> S) -> S", nulls=True)
def reduce_(items: Items | None, state: Any, function: Callable[..., Any]) -> Any:
    """One value from all items: a lambda of the state and an item gives the next state."""
    if state is None:
        return None
    for item in items or ():
        state = function(state, item)
    return state


@define("REDUCE(MAP<K, V>, S, LAMBDA(S, K, V) -> S) -> S", nulls=True)
def reduce_map(given: dict[Any, Any] | None, state: Any, function: Callable[..., Any]) -> Any:
    """One value from all entries of a map."""
    if state is None:
        return None
    for key, value in (given or {}).items():
        state = function(state, key, value)
    return state
