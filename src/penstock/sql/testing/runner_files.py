"""The three files of `ksql-test-runner`: statements, records in, records out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.sql.testing.cases import BadCase, Case, CaseRecord, read_record
from penstock.sql.testing.json_text import read_json


def case_of_files(statements: Path, inputs: Path | None, outputs: Path) -> Case:
    return Case(
        statements.name,
        (statements.read_text(),),
        () if inputs is None else _records(inputs, "inputs"),
        _records(outputs, "outputs"),
    )


def _records(path: Path, name: str) -> tuple[CaseRecord, ...]:
    try:
        document: Any = read_json(path.read_text())
    except ValueError as error:
        raise BadCase(f"{path} is no JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get(name), list):
        raise BadCase(f'{path} must be {{"{name}": [...]}}')
    return tuple(read_record(record) for record in document[name])
