"""CREATE FUNCTION: the declaration of a function in Python, checked without executing its text."""

from __future__ import annotations

import re
from typing import Final

from penstock.expressions.functions.aggregates import AGGREGATES
from penstock.expressions.functions.catalogue import SCALARS
from penstock.expressions.functions.table_functions import TABLE_FUNCTIONS
from penstock.expressions.python_functions import TIMEOUT_MS, PythonFunction
from penstock.plan.python_runtime import FunctionError, defined_names
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import type_of
from penstock.sql.properties import Properties
from penstock.sql.sources import Catalogue

PROPERTIES: Final = frozenset({"HANDLER", "TIMEOUT_MS"})
_INSTALLED: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
MOST_PARAMETERS: Final = 100


def analyse_function(node: s.CreateFunction, catalogue: Catalogue) -> PythonFunction:
    if node.language != "PYTHON":
        raise SqlError(f"Functions are written in PYTHON, not in {node.language}", *node.at)
    if node.name in SCALARS or node.name in AGGREGATES or node.name in TABLE_FUNCTIONS:
        raise SqlError(f"{node.name} is a function of the language: choose another name", *node.at)
    if node.name in catalogue.functions and not node.or_replace:
        raise SqlError(
            f"Function {node.name} already exists. Use CREATE OR REPLACE, or DROP FUNCTION first", *node.at
        )
    if len(node.parameters) > MOST_PARAMETERS:
        raise SqlError(f"A function has at most {MOST_PARAMETERS} parameters", *node.at)
    given = Properties(node.properties, PROPERTIES, node.at)
    handler = given.text("HANDLER") or node.name
    _check_text(node, handler)
    parameters = tuple((name, type_of(kind, catalogue.types)) for name, kind in node.parameters)
    timeout_ms = given.number("TIMEOUT_MS") or TIMEOUT_MS
    returns = type_of(node.returns, catalogue.types)
    return PythonFunction(node.name, node.kind, parameters, returns, node.text or "", handler, timeout_ms)


def _check_text(node: s.CreateFunction, handler: str) -> None:
    if node.text is None:
        if not _INSTALLED.fullmatch(handler):
            raise SqlError(
                "A function needs its text behind AS, or a HANDLER of an installed package, such as "
                "'package.module:function'",
                *node.at,
            )
        return
    try:
        names = defined_names(node.text, node.name)
    except FunctionError as error:
        raise SqlError(str(error), *node.at) from error
    if handler.lower() not in names:
        raise SqlError(
            f"The text of {node.name} defines no {handler.lower()}: define it, or name another by HANDLER",
            *node.at,
        )
    if node.kind == "AGGREGATE":
        missing = [each for each in ("initial", "add") if each not in names[handler.lower()]]
        if missing:
            raise SqlError(
                f"The class {handler.lower()} lacks {' and '.join(missing)}: an aggregation has the static "
                "methods initial() and add(state, …), and may have merge, result and undo",
                *node.at,
            )
