"""Functions in Python on a server: off by default; push queries execute them in a process of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sqlserver.servers import EARLIEST, Server, running_server
from tests.sqlserver.test_statements import create

TWICE = "CREATE FUNCTION twice(x INT) RETURNS INT LANGUAGE PYTHON AS $$\ndef twice(x):\n    return 2 * x\n$$;"
NEVER = (
    "CREATE FUNCTION never(x INT) RETURNS INT LANGUAGE PYTHON WITH (TIMEOUT_MS=100) AS $$\n"
    "import os\ndef never(x):\n    while x == 1:\n        pass\n"
    "    if x == 2:\n        os._exit(3)\n    print('to nobody')\n    return x\n$$;"
)


@pytest.fixture(scope="module")
def python(bootstrap_servers: str) -> Iterator[Server]:
    with running_server(
        bootstrap_servers,
        ksql_service_id="python_",
        ksql_functions_python_enabled="true",
        ksql_functions_python_packages="os, colorsys",
    ) as running:
        yield running


def test_functions_are_off_unless_the_server_says_otherwise(server: Server) -> None:
    answer = server.ksql(TWICE, status=400)
    assert answer["error_code"] == 40001
    assert "Functions in Python are disabled" in answer["message"]


def test_a_function_is_created_shown_used_and_dropped(python: Server, name: str) -> None:
    (made,) = python.ksql(TWICE)
    assert made["commandStatus"]["message"] == "Created function TWICE"
    shown, described = python.ksql("SHOW FUNCTIONS; DESCRIBE FUNCTION twice;")
    assert {"name": "TWICE", "type": "SCALAR", "category": "PYTHON"} in shown["functions"]
    assert described["functions"][0]["arguments"][0] == {
        "name": "X", "type": "INTEGER", "description": "", "isVariadic": False,
    }  # fmt: skip
    create(python, name)
    python.ksql(f"INSERT INTO {name} VALUES (1, 'ann', 21);")
    assert python.rows(f"SELECT twice(amount) FROM {name};") == [[42]]
    python.ksql("DROP FUNCTION twice;")
    answer = python.ksql("DROP FUNCTION twice;", status=400)
    assert "Function TWICE does not exist" in answer["message"]


def test_a_function_that_never_ends_or_kills_its_process_gives_null(python: Server, name: str) -> None:
    python.ksql(NEVER)
    create(python, name)
    for number in (1, 2, 3):
        python.ksql(f"INSERT INTO {name} VALUES ({number}, 'x', {number});")
    rows = python.rows(f"SELECT id, never(amount) FROM {name} EMIT CHANGES LIMIT 3;", **EARLIEST_GIVEN)
    assert rows == [[1, None], [2, None], [3, 3]]


def test_a_handler_of_an_installed_package_must_be_registered(python: Server, name: str) -> None:
    refused = python.ksql(
        "CREATE FUNCTION run(x STRING) RETURNS INT LANGUAGE PYTHON WITH (HANDLER='subprocess:call');", 400
    )
    assert "The package of subprocess:call is not registered" in refused["message"]
    python.ksql(
        "CREATE FUNCTION join_path(x STRING, y STRING) RETURNS STRING LANGUAGE PYTHON "
        "WITH (HANDLER='os.path:join');"
    )
    create(python, name)
    python.ksql(f"INSERT INTO {name} VALUES (1, 'ann', 21);")
    assert python.rows(f"SELECT join_path(who, 'x') FROM {name};") == [["ann/x"]]


EARLIEST_GIVEN = {"auto_offset_reset": EARLIEST["auto.offset.reset"]}
