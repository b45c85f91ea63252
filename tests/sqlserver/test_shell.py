"""The shell: statements given, of a file and of standard input; tables, variables, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.ksql.loop import is_complete
from penstock.cli.ksql.tables import LiveTable, table, wide_row
from tests.sqlserver.servers import Server


def ksql(server: Server, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "sql", "shell", server.url, *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=given, timeout=60)


def test_statements_given_are_executed_and_shown_as_tables(server: Server, name: str) -> None:
    done = ksql(
        server, "-d", f"s={name}", "-e",
        "CREATE STREAM ${s} (id INT KEY, v STRING) "
        "WITH (kafka_topic='${s}', value_format='JSON', partitions=1);",
        "-e", "INSERT INTO ${s} VALUES (1, 'a'); SET 'auto.offset.reset'='earliest';"
        "SELECT * FROM ${s} EMIT CHANGES LIMIT 1; DESCRIBE ${s}; SHOW VARIABLES;"
        "PRINT ${s} FROM BEGINNING LIMIT 1;",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert " Stream created" in lines
    assert any(line.startswith("| ID ") for line in lines)
    assert any(line.startswith("| 1 ") and "| a " in line for line in lines)
    assert " ID    | INTEGER (key)" in lines
    assert any(line.startswith(f" s             | {name}") for line in lines)
    assert "Value format: JSON or KAFKA_STRING" in lines


def test_a_failure_ends_a_script_with_exit_code_1(server: Server, name: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner.sql"
    inner.write_text("SHOW TYPES;\nDROP STREAM absent;\nSHOW STREAMS;")
    outer = tmp_path / "outer.sql"
    outer.write_text(f"RUN SCRIPT '{inner}';")
    done = ksql(server, "-f", str(outer))
    assert done.returncode == 1
    assert "Source ABSENT does not exist." in done.stderr
    assert "Traceback" not in done.stderr
    assert "Kafka Topic" not in done.stdout


def test_standard_input_is_a_script_and_answers_can_be_json(server: Server) -> None:
    done = ksql(server, "--output", "JSON", given="SHOW STREAMS; SHOW\nTABLES;")
    assert [json.loads(line)["@type"] for line in done.stdout.splitlines()] == ["streams", "tables"]


def test_a_server_that_is_not_there_is_told_in_a_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "sql", "shell", "http://127.0.0.1:1", "-e", "SHOW STREAMS;"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "No SQL server answers at http://127.0.0.1:1: Connection refused." in done.stderr


@pytest.mark.parametrize(
    ("text", "complete"),
    [("", True), ("SHOW STREAMS;\n", True), ("SELECT 1\n", False), ("INSERT INTO x VALUES ('a;\n", False)],
)
def test_a_statement_goes_on_until_its_semicolon(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_tables_are_as_wide_as_their_cells() -> None:
    assert table(["A", "Long"], [[1, None], ["xyz", True]]) == (
        " A   | Long\n-------------\n 1   | null\n xyz | true\n-------------"
    )
    live = LiveTable(["A", "B"], 30)
    assert live.row([1, "x" * 13]) == "| 1           | xxxxxxxxxxx |\n|             | xx          |"
    assert wide_row(["A", "LONG"], [1, "x"], 2) == "*** row 2 ***\n   A: 1\nLONG: x"
