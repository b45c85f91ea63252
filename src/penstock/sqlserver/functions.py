"""The functions of the language, as SHOW FUNCTIONS and DESCRIBE FUNCTION show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.expressions.functions.aggregates import AGGREGATES
from penstock.expressions.functions.catalogue import SCALARS
from penstock.expressions.functions.table_functions import TABLE_FUNCTIONS
from penstock.expressions.python_functions import PythonFunction


def names(users: Mapping[str, PythonFunction]) -> list[dict[str, str]]:
    found = [(name, "SCALAR") for name in SCALARS]
    found += [(name, "AGGREGATE") for name in AGGREGATES]
    found += [(name, "TABLE") for name in TABLE_FUNCTIONS]
    listed = [{"name": name, "type": kind, "category": "OTHER"} for name, kind in found]
    listed += [{"name": each.name, "type": each.kind, "category": "PYTHON"} for each in users.values()]
    return sorted(listed, key=lambda line: line["name"])


def description(name: str, users: Mapping[str, PythonFunction]) -> dict[str, Any] | None:
    """What is known of a function; none where there is none of this name."""
    upper = name.upper()
    if upper in users:
        return _of_user(users[upper])
    if upper in SCALARS:
        function = SCALARS[upper]
        variants = [_variant(each.signature, function.description) for each in function.variants]
        return _described(upper, function.description, "SCALAR", variants)
    if upper in AGGREGATES:
        return _described(upper, AGGREGATES[upper].description, "AGGREGATE", [])
    if upper in TABLE_FUNCTIONS:
        words = " ".join((TABLE_FUNCTIONS[upper][1].__doc__ or "").split())
        return _described(upper, words, "TABLE", [])
    return None


def _of_user(function: PythonFunction) -> dict[str, Any]:
    arguments = [
        {"name": name, "type": str(kind), "description": "", "isVariadic": False}
        for name, kind in function.parameters
    ]
    variant = {"arguments": arguments, "returnType": str(function.returns), "description": ""}
    where = "its own text" if function.source else function.handler
    words = f"A function in Python, from {where}."
    return {**_described(function.name, words, function.kind, [variant]), "author": "", "path": where}


def _described(name: str, words: str, kind: str, variants: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "description": words,
        "author": "Penstock",
        "version": "",
        "path": "internal",
        "functions": variants,
        "type": kind,
    }


def _variant(signature: Any, words: str) -> dict[str, Any]:
    arguments = [
        {
            "name": f"arg{at}",
            "type": str(pattern),
            "description": "",
            "isVariadic": signature.variadic == at,
        }
        for at, pattern in enumerate(signature.parameters)
    ]
    return {"arguments": arguments, "returnType": str(signature.result), "description": words}
