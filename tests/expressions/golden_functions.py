"""Golden cases of functions, from ksqlDB's documentation: an expression, then its type and value as JSON.

`python -m tests.expressions.golden_functions` writes what Penstock gives today. Read the difference before
you commit it. Clock and chance are fixed.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from penstock.expressions.environment import Environment, ExpressionFailure
from penstock.expressions.evaluating import evaluator
from penstock.expressions.functions.json_texts import json_text
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import scope, typed
from penstock.sql.parsing import parse_expression

CASES = Path(__file__).parents[1] / "golden" / "functions" / "cases.txt"
ARROW = "\n    ---> "


def cases() -> list[tuple[str, str]]:
    lines = CASES.read_text().replace(ARROW, "\0").splitlines()
    return [(given, expected) for given, _, expected in (line.partition("\0") for line in lines)]


def result(text: str) -> str:
    seen: list[ExpressionFailure] = []
    try:
        node = typed(parse_expression(text), scope({}))
    except SqlError as error:
        return f"refused: {str(error).splitlines()[0]}"
    environment = Environment(report=seen.append, now_ms=lambda: 1_700_000_000_000, random=Random(1))
    value = evaluator(node, environment)({})
    failed = "".join(f" # {failure.message}" for failure in seen)
    return f"{node.type} {json_text(value, node.type)}{failed}".replace("\n", " ")


def main() -> None:
    CASES.write_text("".join(f"{given}{ARROW}{result(given)}\n" for given, _ in cases()))


if __name__ == "__main__":
    main()
