"""Functions of JSON in STRINGs. Numbers keep their text, so that nothing is rounded on the way."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from decimal import Decimal
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.registry import Bound, Functions, Implementation
from penstock.expressions.java_text import plain_decimal
from penstock.expressions.numbers import java_double_text

define = Functions()

MAX_DEPTH: Final = 500
MISSING: Final = object()


class _Number(str):
    """A number as it stands in the text."""


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _read(text: str) -> Any:
    try:
        return json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse, object_pairs_hook=dict
        )
    except (ValueError, RecursionError) as error:
        raise EvaluationFailed(f"{text!r:.80} is no JSON: {error}") from error


def _write(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{_string(key)}:{_write(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_write, value))}]"
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(-?[0-9]+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")


def _steps(path: str) -> list[str | int]:
    if not path.startswith("$"):
        raise EvaluationFailed(f"Invalid JSON path {path!r}: it begins with $")
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise EvaluationFailed(f"Invalid JSON path {path!r} at {path[at:]!r}")
        name = next((found[n] for n in (1, 3, 4) if found[n] is not None), None)
        steps.append(int(found[2]) if name is None else name)
        at = found.end()
    return steps


def _followed(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


@define("EXTRACTJSONFIELD(STRING, STRING) -> STRING")
def extractjsonfield(text: str, path: str) -> str | None:
    """What stands at a path such as `$.log.cloud` or `$.items[0]`; texts without quotes, all else as JSON."""
    found = _followed(_read(text), _steps(path))
    if found is MISSING or found is None:
        return None
    return str(found) if isinstance(found, str) else _write(found)


@define("IS_JSON_STRING(STRING) -> BOOLEAN", nulls=True)
def is_json_string(text: str | None) -> bool:
    """Whether a text is JSON."""
    if text is None:
        return False
    try:
        _read(text)
    except EvaluationFailed:
        return False
    return True


@define("JSON_ARRAY_LENGTH(STRING) -> INT")
def json_array_length(text: str) -> int | None:
    """The number of items of a JSON array; null for anything else."""
    value = _read(text)
    return len(value) if isinstance(value, list) else None


@define("JSON_ARRAY_CONTAINS(STRING, T) -> BOOLEAN", nulls=True)
def json_array_contains(text: str | None, wanted: Any) -> bool:
    """Whether a JSON array has an item of the same type and value."""
    value = None if text is None else _read(text)
    if not isinstance(value, list):
        return False
    return any(_same(item, wanted) for item in value)


def _same(item: Any, wanted: Any) -> bool:
    if isinstance(item, _Number):
        numeric = isinstance(wanted, int | float | Decimal) and not isinstance(wanted, bool)
        return numeric and float(item) == float(wanted)
    return type(item) is type(wanted) and bool(item == wanted)


@define("JSON_CONCAT(STRING, STRING...) -> STRING", nulls=True)
def json_concat(*texts: str | None) -> str | None:
    """JSON texts made one: objects are united, later ones first; all else becomes one array."""
    if any(text is None for text in texts):
        return None
    result = _read(texts[0] or "")
    for text in texts[1:]:
        value = _read(text or "")
        if isinstance(result, dict) and isinstance(value, dict):
            result = {**result, **value}
        else:
            result = [*_listed(result), *_listed(value)]
    return _write(result)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@define("JSON_ITEMS(STRING) -> ARRAY<STRING>")
def json_items(text: str) -> list[str]:
    """The items of a JSON array, each as JSON."""
    value = _read(text)
    if not isinstance(value, list):
        raise EvaluationFailed(f"{text!r:.80} is no JSON array")
    return [_write(item) for item in value]


@define("JSON_KEYS(STRING) -> ARRAY<STRING>")
def json_keys(text: str) -> list[str] | None:
    """The keys of a JSON object; null for anything else."""
    value = _read(text)
    return list(value) if isinstance(value, dict) else None


@define("JSON_RECORDS(STRING) -> MAP<STRING, STRING>")
def json_records(text: str) -> dict[str, str] | None:
    """The entries of a JSON object, each value as JSON; null for anything else."""
    value = _read(text)
    return {key: _write(each) for key, each in value.items()} if isinstance(value, dict) else None


@define.bound("TO_JSON_STRING(T) -> STRING", nulls=True)
def to_json_string(bound: Bound) -> Implementation:
    """Any value as JSON."""
    kind = bound.arguments[0]
    return lambda value: json_text(value, kind)


def json_text(value: Any, kind: t.SqlType) -> str:
    if value is None:
        return "null"
    match kind:
        case t.Array(item=item):
            return f"[{','.join(json_text(each, item) for each in value)}]"
        case t.Map(value=inner):
            entries = (f"{_string(str(key))}:{json_text(each, inner)}" for key, each in value.items())
            return f"{{{','.join(entries)}}}"
        case t.Struct(fields=fields):
            return (
                f"{{{','.join(f'{_string(f.name)}:{json_text(value.get(f.name), f.type)}' for f in fields)}}}"
            )
        case t.Decimal():
            return plain_decimal(value)
        case _:
            return _simple_json(value, kind)


def _simple_json(value: Any, kind: t.SqlType) -> str:
    if kind == t.DOUBLE:
        text = java_double_text(value)
        return f'"{text}"' if text[-1] in "Ny" else text
    if kind == t.STRING:
        return _string(value)
    if kind == t.BYTES:
        return f'"{b64encode(value).decode()}"'
    return json.dumps(value)
