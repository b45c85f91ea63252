"""/ws/query, with the `websockets` client of PyPI."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.sqlserver.servers import EARLIEST, Server
from tests.sqlserver.test_statements import create


def url(server: Server, text: str) -> str:
    request = {"ksql": text, "streamsProperties": EARLIEST}
    return f"ws://{server.address}/ws/query?request={quote(json.dumps(request))}"


def test_rows_come_as_messages_and_the_socket_is_closed_at_the_end(server: Server, name: str) -> None:
    create(server, name)
    server.ksql(f"INSERT INTO {name} VALUES (1, 'ann', 10); INSERT INTO {name} VALUES (2, 'bob', 20);")
    with connect(url(server, f"SELECT id, who FROM {name} EMIT CHANGES LIMIT 2;")) as socket:
        columns, *rows = [json.loads(message) for message in socket]
        assert socket.close_code == 1000
    assert [column["name"] for column in columns] == ["ID", "WHO"]
    assert rows == [{"row": {"columns": [1, "ann"]}}, {"row": {"columns": [2, "bob"]}}]
    with connect(url(server, f"PRINT {name} FROM BEGINNING LIMIT 1;")) as socket:
        assert any('"WHO":"ann"' in str(message) for message in socket)


def test_a_wrong_query_is_refused_with_its_error(server: Server) -> None:
    for text, words in (("SELECT * FROM nowhere EMIT CHANGES;", "NOWHERE"), ("SHOW STREAMS;", "/ksql")):
        with connect(url(server, text)) as socket:
            error = json.loads(socket.recv())
            assert words in error["message"]
            assert error["error_code"] == 40001
            try:
                socket.recv()
            except ConnectionClosed:
                assert socket.close_code == 1003


def test_a_page_of_another_site_gets_nothing(server: Server, name: str) -> None:
    create(server, name)
    text = f"SELECT * FROM {name} EMIT CHANGES;"
    with pytest.raises(InvalidStatus), connect(url(server, text), origin=Origin("https://evil.test")):
        pass
    own = Origin(f"http://{server.address}")
    with connect(url(server, text), origin=own) as socket:
        assert json.loads(socket.recv())[0]["name"] == "ID"


def test_a_client_that_goes_ends_its_query(server: Server, name: str) -> None:
    create(server, name)
    for _ in range(120):  # more than ksql.max.push.queries
        with connect(url(server, f"SELECT * FROM {name} EMIT CHANGES;")) as socket:
            assert json.loads(socket.recv())[0]["name"] == "ID"
