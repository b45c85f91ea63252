"""The shell: statements given, of a file and of standard input; tables, variables, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.ksql import live
from penstock.cli.ksql.completing import Completion
from penstock.cli.ksql.loop import is_complete
from penstock.cli.ksql.requests import Server as Asked
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
    [
        ("", True),
        ("SHOW STREAMS;\n", True),
        ("SELECT 1\\G\n", True),
        ("SELECT 1\n", False),
        ("INSERT INTO x VALUES ('a;\n", False),
    ],
)
def test_a_statement_goes_on_until_its_semicolon(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_a_statement_that_ends_with_backslash_g_has_a_line_a_column(server: Server, name: str) -> None:
    server.ksql(
        f"CREATE STREAM {name} (id INT KEY) WITH (kafka_topic='{name}', format='JSON', partitions=1);"
    )
    server.ksql(f"INSERT INTO {name} VALUES (7);")
    done = ksql(server, "-e", f"SELECT * FROM {name}\\G")
    assert done.stdout.splitlines()[:2] == ["*** row 1 ***", "ID: 7"]


def test_tab_offers_keywords_and_the_names_of_the_server(server: Server, name: str) -> None:
    server.ksql(
        f"CREATE STREAM {name} (id INT KEY, shipped_to STRING) "
        f"WITH (kafka_topic='{name}', format='JSON', partitions=1);"
    )
    completion = Completion(Asked(server.url))
    assert completion.matches(name.lower()) == [name]
    assert completion.matches("shipp") == ["SHIPPED_TO"]
    assert "UCASE(" in completion.matches("uca")
    assert "STREAMS " in completion.matches("strea")
    assert Completion(Asked("http://127.0.0.1:1")).matches("SELE") == ["SELECT "]


def test_rows_of_a_key_change_in_place() -> None:
    drawn: list[str] = []

    class Screen(live.Screen):
        def draw(self, text: str) -> None:
            drawn.append(text)

    changes = [
        {"header": {"queryId": "q", "schema": "`K` STRING KEY, `M` MAP<STRING, INTEGER>, `N` INTEGER"}},
        {"row": {"columns": ["b", {}, 1]}},
        {"row": {"columns": ["a", {}, 1]}},
        {"row": {"columns": ["b", {}, 2]}},
        {"row": {"columns": ["a", None, None], "tombstone": True}},
    ]
    live.show(iter(changes), lambda: (80, 24), Screen())
    shown = [line.split() for line in drawn[-2].splitlines()]
    assert [line[::2] for line in shown[2:4]] == [["a", "{}", "1"], ["b", "{}", "2"]]
    assert drawn[-1].splitlines()[2:-2] == [" b | {} | 2"]
    assert drawn[-1].endswith("1 rows, 4 changes. Ctrl-C ends the query.")
    assert live.columns_of("`a,b` STRUCT<X INTEGER, Y STRING>, C DECIMAL(4, 2) KEY") == (["a,b", "C"], ["C"])


def test_tables_are_as_wide_as_their_cells() -> None:
    assert table(["A", "Long"], [[1, None], ["xyz", True]]) == (
        " A   | Long\n-------------\n 1   | null\n xyz | true\n-------------"
    )
    live = LiveTable(["A", "B"], 30)
    assert live.row([1, "x" * 13]) == "| 1           | xxxxxxxxxxx |\n|             | xx          |"
    assert wide_row(["A", "LONG"], [1, "x"], 2) == "*** row 2 ***\n   A: 1\nLONG: x"
