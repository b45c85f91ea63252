"""The examples in SQL: what their statements make of records, in process; and as people run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.sql import statements as s
from penstock.sql.lexer import split
from penstock.sql.parsing import parse_statement
from penstock.sql.testing import Case, run_case
from penstock.sql.testing.cases import read_record
from tests.sqlserver.servers import Server

EXAMPLES = Path(__file__).parents[2] / "examples" / "sql"


def definitions(name: str) -> tuple[str, ...]:
    """The statements of an example but for its rows and its query."""
    statements = split((EXAMPLES / f"{name}.sql").read_text())
    made = [(raw.text, parse_statement(raw)) for raw in statements]
    return tuple(f"{text};" for text, node in made if not isinstance(node, s.InsertValues | s.Query))


def check(name: str, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]]) -> None:
    records = (tuple(read_record(each) for each in given) for given in (inputs, outputs))
    assert run_case(Case(name, definitions(name), *records)).differences == ()


def test_four_authorisations_in_five_seconds_are_reported() -> None:
    def at(second: float, card: str = "a") -> dict[str, Any]:
        value = {"AMOUNT": 10.00, "SHOP": "x"}
        return {"topic": "authorisations", "key": card, "value": value, "timestamp": int(second * 1000)}

    window = {"start": 8000, "end": 13000, "type": "time"}
    check(
        "fraud",
        [at(8), at(9), at(9, "b"), at(11.5), at(12.9), at(20)],
        [
            {
                "topic": "POSSIBLE_FRAUD", "key": "a", "value": {"ATTEMPTS": 4, "TOTAL": 40.00},
                "timestamp": 12900, "window": window,
            }
        ],
    )  # fmt: skip


def test_errors_are_counted_by_host_and_minute() -> None:
    def line(host: str, level: str, message: str, at: int) -> dict[str, Any]:
        value = {"LEVEL": level, "MESSAGE": message}
        return {"topic": "log-lines", "key": host, "value": value, "timestamp": at}

    def row(host: str, errors: int, latest: str, at: int, start: int) -> dict[str, Any]:
        return {
            "topic": "ERRORS_PER_MINUTE", "key": host, "value": {"ERRORS": errors, "LATEST": latest},
            "timestamp": at, "window": {"start": start, "end": start + 60_000, "type": "time"},
        }  # fmt: skip

    check(
        "errors_per_minute",
        [
            line("w1", "ERROR", "a", 1000), line("w1", "INFO", "b", 2000), line("w1", "ERROR", "c", 3000),
            line("w2", "ERROR", "d", 4000), line("w1", "ERROR", "e", 61_000),
        ],
        [
            row("w1", 1, "a", 1000, 0), row("w1", 2, "c", 3000, 0), row("w2", 1, "d", 4000, 0),
            row("w1", 1, "e", 61_000, 60_000),
        ],
    )  # fmt: skip


def test_only_clicks_of_vip_users_come_out() -> None:
    users = [
        {"topic": "users", "key": "u1", "value": {"NAME": "Ann", "LEVEL": "Platinum"}, "timestamp": 0},
        {"topic": "users", "key": "u2", "value": {"NAME": "Bob", "LEVEL": "Silver"}, "timestamp": 0},
    ]
    clicks = [
        {"topic": "clicks", "key": user, "value": {"PAGE": "/x"}, "timestamp": 10}
        for user in ("u1", "u2", "u3")
    ]
    made = {"NAME": "Ann", "PAGE": "/x"}
    check(
        "vip_users",
        [*users, *clicks],
        [{"topic": "VIP_ACTIONS", "key": "u1", "value": made, "timestamp": 10}],
    )


@pytest.mark.long
@pytest.mark.timeout(300)
def test_each_example_runs_with_one_command(server: Server) -> None:
    for name, words in (("fraud", "4556-0002"), ("errors_per_minute", "disk is full"), ("vip_users", "Ann")):
        command = [sys.executable, "-m", "penstock", "sql", "shell", server.url, "-f"]
        done = subprocess.run(
            [*command, str(EXAMPLES / f"{name}.sql")], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert words in done.stdout
