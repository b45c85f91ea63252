"""`penstock sql test` and `ksql-test-runner`: exit codes, what is shown, and the document for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.main import run
from penstock.cli.sql import test_runner as ksql_test_runner

STATEMENTS = [
    "CREATE STREAM T (K STRING KEY, V INT) WITH (kafka_topic='t', value_format='JSON');",
    "CREATE STREAM O AS SELECT K, V + 1 AS W FROM T;",
]
IN = {"topic": "t", "key": "a", "value": {"V": 1}}


def cases(path: Path, wanted: int) -> Path:
    file = path / "cases.json"
    outputs = [{"topic": "O", "key": "a", "value": {"W": wanted}}]
    case: dict[str, Any] = {"name": "adds one", "statements": STATEMENTS, "inputs": [IN], "outputs": outputs}
    file.write_text(json.dumps({"tests": [case]}))
    return file


def test_cases_that_pass_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases(tmp_path, 2)
    assert run(["sql", "test", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("1 passed, 0 failed in ")


def test_a_case_that_fails_is_shown_and_is_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(cases(tmp_path, 3))
    assert run(["sql", "test", file]) == 1
    assert 'O record 0: value {"W":2}, expected {"W":3}' in capsys.readouterr().out
    assert run(["sql", "test", file, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["passed"], document["failed"]) == (0, 1)
    assert document["tests"][0]["name"] == "adds one"


def test_a_file_that_holds_no_cases_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.json"
    file.write_text("{}")
    assert run(["sql", "test", str(file)]) == 1
    assert "holds no cases" in capsys.readouterr().err


@pytest.mark.parametrize(("wanted", "code", "words"), [(2, 0, ">>> Test passed!"), (3, 1, "Test failed")])
def test_the_runner_of_three_files(tmp_path: Path, wanted: int, code: int, words: str) -> None:
    (tmp_path / "s.sql").write_text("\n".join(STATEMENTS))
    (tmp_path / "i.json").write_text(json.dumps({"inputs": [IN]}))
    outputs = [{"topic": "O", "key": "a", "value": {"W": wanted}}]
    (tmp_path / "o.json").write_text(json.dumps({"outputs": outputs}))
    files = [str(tmp_path / name) for name in ("s.sql", "i.json", "o.json")]
    said = CliRunner().invoke(ksql_test_runner, ["-s", files[0], "-i", files[1], "-o", files[2]])
    assert said.exit_code == code
    assert words in said.output
