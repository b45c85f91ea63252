"""SQL values as a given Avro schema wants them: maps as maps or as lists of pairs, records by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shape = Callable[[Any], Any]


def shape_of(schema: Any) -> Shape:
    """What turns a SQL value into the value that fastavro writes with this schema."""
    return _shape(schema, {})


def _shape(schema: Any, named: dict[str, Shape]) -> Shape:
    if isinstance(schema, str):
        # A name that is defined further out is looked up when it is used: a record may stand within itself.
        return lambda value: named[schema](value) if schema in named else value
    if isinstance(schema, list):
        return _union(schema, named)
    match schema.get("type"):
        case "record":
            return _record(schema, named)
        case "array":
            return _array(schema["items"], named)
        case "map":
            inner = _nullable(schema["values"], named)
            return lambda value: {str(name): inner(one) for name, one in value.items()}
        case dict() | list() as nested:
            return _shape(nested, named)
        case _:
            return _as_is


def _nullable(schema: Any, named: dict[str, Shape]) -> Shape:
    inner = _shape(schema, named)
    return lambda value: None if value is None else inner(value)


def _union(branches: list[Any], named: dict[str, Shape]) -> Shape:
    """The only branch beside null; where there are several the writer chooses."""
    shapes = [_shape(branch, named) for branch in branches if branch != "null"]
    return shapes[0] if len(shapes) == 1 else _as_is


def _array(items: Any, named: dict[str, Shape]) -> Shape:
    each = _nullable(items, named)

    def shape(value: Any) -> Any:
        if isinstance(value, dict):  # Connect's form of maps whose keys may be null
            value = [{"key": name, "value": one} for name, one in value.items()]
        return [each(one) for one in value]

    return shape


def _record(schema: dict[str, Any], named: dict[str, Shape]) -> Shape:
    fields: list[tuple[str, Shape]] = []

    def shape(value: Any) -> Any:
        upper = None
        made = {}
        for name, each in fields:
            if name in value:
                made[name] = each(value[name])
                continue
            if upper is None:
                upper = {str(known).upper(): one for known, one in value.items()}
            if name.upper() in upper:
                made[name] = each(upper[name.upper()])
        return made

    named[schema["name"]] = shape  # before its fields: they may name it
    fields += [(field["name"], _nullable(field["type"], named)) for field in schema["fields"]]
    return shape


def _as_is(value: Any) -> Any:
    return value
