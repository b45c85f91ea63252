"""Plans as JSON and back.

Parts of a plan are written by tags that stay (`plan/tags.py`), expressions and types in their own JSON form.
Functions of the user are written by module and name, and so are the user's own dataclasses: such a plan is
code, so load only plans of your own. `trusted=False` loads plans that hold none, and refuses the others.

Lambdas and functions within functions have no name to be found by; they are refused, with the line of the
topology. Format 1 wrote every part by module and name, and its fields beside that; it can still be read.
"""

from __future__ import annotations

import importlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final

from penstock.expressions.json_form import read_expression, read_type, write_expression, write_type
from penstock.expressions.tree import Expression
from penstock.expressions.types import SqlType
from penstock.plan.errors import Origin, TopologyError
from penstock.plan.nodes import Node
from penstock.plan.plan import Plan
from penstock.plan.tags import CLASSES, TAGS

FORMAT: Final = 2
READABLE: Final = (1, 2)


def to_json(plan: Plan) -> str:
    return json.dumps({"format": FORMAT, "plan": _written(plan, None)}, separators=(",", ":"))


def from_json(text: str, *, trusted: bool = True) -> Plan:
    document = json.loads(text)
    if document.get("format") not in READABLE:
        raise TopologyError(
            f"a plan of format {document.get('format')!r}; this is Penstock with format {FORMAT}"
        )
    plan = _Reader(trusted, document["format"]).read(document["plan"])
    if not isinstance(plan, Plan):
        raise TopologyError("the document holds no plan")
    return plan.validate()


def _written(value: Any, origin: Origin | None) -> Any:
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return {"enum": _tag(type(value)), "name": value.name}
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, tuple | list):
        return [_written(item, origin) for item in value]
    if isinstance(value, Expression):
        return {"expression": write_expression(value)}
    if isinstance(value, SqlType):
        return {"sql_type": write_type(value)}
    if is_dataclass(value) and not isinstance(value, type):
        origin = value.origin if isinstance(value, Node) else origin
        parts = {
            field.name: _written(getattr(value, field.name), origin) for field in fields(value) if field.init
        }
        return {"type": _tag(type(value)), "with": parts} if parts else {"type": _tag(type(value))}
    if callable(value):
        return {"function": _findable(value, origin)}
    raise TopologyError(
        f"{value!r:.80} cannot be written down: use a dataclass or a function with a name", origin
    )


def _tag(kind: type) -> str:
    return TAGS.get(kind) or _place(kind)


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


class _Reader:
    def __init__(self, trusted: bool, form: int) -> None:
        self._trusted, self._form = trusted, form

    def read(self, document: Any) -> Any:
        if isinstance(document, list):
            return tuple(self.read(item) for item in document)
        if not isinstance(document, dict):
            return document
        if "type" not in document:
            return self._simple(document)
        kind = self._named(document["type"])
        if not is_dataclass(kind):
            raise TopologyError(f"{document['type']} is no part of a plan")
        if self._form == 1:
            given = {name: part for name, part in document.items() if name != "type"}
        else:
            given = document.get("with", {})
        return kind(**{name: self.read(part) for name, part in given.items()})  # type: ignore[operator]

    def _simple(self, document: dict[str, Any]) -> Any:
        if "bytes" in document:
            return b64decode(document["bytes"])
        if "expression" in document:
            return read_expression(document["expression"])
        if "sql_type" in document:
            return read_type(document["sql_type"])
        if "enum" in document:
            return self._named(document["enum"])[document["name"]]
        return self._named(document["function"])

    def _named(self, name: str) -> Any:
        if name in CLASSES:
            return CLASSES[name]
        if not self._trusted:
            raise TopologyError(
                f"the plan names {name!r:.80}, which is code: only a plan of data is read here"
            )
        if ":" not in name:
            raise TopologyError(f"{name!r:.80} is no part of a plan")
        return _found(name)
