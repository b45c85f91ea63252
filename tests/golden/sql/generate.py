"""Write what the parser says today into the golden files: `python -m tests.golden.sql.generate`.

Read the difference before you commit it. A case is an input, a line `--->` and its result; `====` ends it.
"""

from __future__ import annotations

from pathlib import Path

from penstock.sql.errors import SqlError
from penstock.sql.parsing import parse_statement
from penstock.sql.statement_printing import statement

HERE = Path(__file__).parent
STATEMENTS, ERRORS = HERE / "statements.txt", HERE / "errors.txt"


def cases(path: Path) -> list[tuple[str, str]]:
    pairs = [case.partition("\n--->\n") for case in path.read_text().split("\n====\n") if case.strip()]
    return [(given, expected) for given, _, expected in pairs]


def printed(text: str) -> str:
    return statement(parse_statement(text))


def refused(text: str) -> str:
    try:
        return f"no error: {printed(text)}"
    except SqlError as error:
        return str(error)


def main() -> None:
    for path, result in ((STATEMENTS, printed), (ERRORS, refused)):
        path.write_text("".join(f"{given}\n--->\n{result(given)}\n====\n" for given, _ in cases(path)))


if __name__ == "__main__":
    main()
