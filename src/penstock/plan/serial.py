"""Plans as JSON and back. A plan is code: functions are written by module and name, so load only plans of
your own.

Lambdas and functions within functions have no name to be found by; they are refused, with the line of the
topology.
"""

from __future__ import annotations

import importlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from penstock.plan.errors import Origin, TopologyError
from penstock.plan.nodes import Node
from penstock.plan.plan import Plan

FORMAT = 1


def to_json(plan: Plan) -> str:
    return json.dumps({"format": FORMAT, "plan": _written(plan, None)}, separators=(",", ":"))


def from_json(text: str) -> Plan:
    document = json.loads(text)
    if document.get("format") != FORMAT:
        raise TopologyError(
            f"a plan of format {document.get('format')!r}; this is Penstock with format {FORMAT}"
        )
    plan = _read(document["plan"])
    if not isinstance(plan, Plan):
        raise TopologyError("the document holds no plan")
    return plan.validate()


def _written(value: Any, origin: Origin | None) -> Any:
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return {"enum": _place(type(value)), "name": value.name}
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, tuple | list):
        return [_written(item, origin) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        origin = value.origin if isinstance(value, Node) else origin
        parts = {
            field.name: _written(getattr(value, field.name), origin) for field in fields(value) if field.init
        }
        return {"type": _place(type(value)), **parts}
    if callable(value):
        return {"function": _findable(value, origin)}
    raise TopologyError(
        f"{value!r:.80} cannot be written down: use a dataclass or a function with a name", origin
    )


def _place(thing: Any) -> str:
    owner = getattr(
        thing, "__objclass__", thing
    )  # a method of a built-in type knows its module by its type only
    return f"{owner.__module__}:{thing.__qualname__}"


def _findable(function: Callable[..., Any], origin: Origin | None) -> str:
    place = _place(function)
    if "<" in place or _found(place) is not function:
        raise TopologyError(
            f"{function.__qualname__} has no name to be found by: define it at the top of a module",
            origin,
        )
    return place


def _found(place: str) -> Any:
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def _read(document: Any) -> Any:
    if isinstance(document, list):
        return tuple(_read(item) for item in document)
    if not isinstance(document, dict):
        return document
    if "type" not in document:
        return _simple(document)
    kind = _found(document["type"])
    if not is_dataclass(kind):
        raise TopologyError(f"{document['type']} is no part of a plan")
    parts = {name: _read(part) for name, part in document.items() if name != "type"}
    return kind(**parts)  # type: ignore[operator]


def _simple(document: dict[str, Any]) -> Any:
    if "bytes" in document:
        return b64decode(document["bytes"])
    if "enum" in document:
        return _found(document["enum"])[document["name"]]
    return _found(document["function"])
