"""What ksqlDB does not have: DELETE, ORDER BY, START AT, SHOW CREATE, DROP … CASCADE, queries in FROM,
AS OF."""

from __future__ import annotations

import time

import pytest

from tests.sqlserver.servers import Server
from tests.sqlserver.test_statements import create


def test_rows_of_a_table_are_deleted_by_key_and_sorted(server: Server, name: str) -> None:
    server.ksql(
        f"CREATE TABLE {name} (id INT PRIMARY KEY, v STRING) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions=2);"
        f"CREATE SOURCE TABLE v_{name} (id INT PRIMARY KEY, v STRING) "
        f"WITH (kafka_topic='{name}', value_format='JSON');"
    )
    for number in range(6):
        server.ksql(f"INSERT INTO {name} VALUES ({number}, 'x{number % 3}');")
    server.ksql(f"DELETE FROM {name} WHERE id = 1 OR id IN (2, 77);")
    query = f"SELECT id, v FROM v_{name} ORDER BY v DESC, id;"
    server.wait_for_rows(query, lambda rows: len(rows) == 4)
    assert server.rows(query) == [[5, "x2"], [4, "x1"], [0, "x0"], [3, "x0"]]
    assert server.rows(query.replace(";", " LIMIT 2;")) == [[5, "x2"], [4, "x1"]]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("v = 'x'", "olumn 'V' cannot be resolved"),
        ("id > 3", "DELETE needs the whole key"),
        ("id = 1 AND id = 2", "DELETE needs the whole key"),
        ("id = 1 AND (id = 1 OR id = 2)", "DELETE needs the whole key"),
        ("NOT id = 1", "DELETE needs the whole key"),
    ],
)
def test_what_is_no_key_deletes_nothing(server: Server, name: str, where: str, words: str) -> None:
    server.ksql(
        f"CREATE TABLE {name} (id INT PRIMARY KEY, v STRING) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions=1);"
    )
    assert words in server.ksql(f"DELETE FROM {name} WHERE {where};", 400)["message"]


def test_a_query_begins_where_it_is_told(server: Server, name: str) -> None:
    create(server, name)
    for number in range(3):
        server.ksql(
            f"INSERT INTO {name} (ROWTIME, id, amount) VALUES ({number * 1000 + 1000}, {number}, {number});"
        )
    for where, expected in (
        ("BEGINNING", [[0], [1], [2]]),
        ("OFFSET 1", [[1], [2]]),
        ("TIMESTAMP '1970-01-01T00:00:02.500Z'", [[2]]),
        ("TIMESTAMP 2000", [[1], [2]]),
    ):
        rows = server.rows(f"SELECT id FROM {name} START AT {where} EMIT CHANGES LIMIT {len(expected)};")
        assert rows == expected, where
    assert server.rows(f"SELECT id FROM {name} START AT OFFSET 2;") == [[2]]
    wrong = {"sql": f"SELECT id FROM {name} START AT NOON EMIT CHANGES;"}
    answer = server.client.post("/query-stream", json=wrong)
    assert "START AT takes BEGINNING" in answer.json()["message"]


def test_queries_in_from_and_unions_are_pushed(server: Server, name: str) -> None:
    create(server, name)
    server.ksql(f"INSERT INTO {name} VALUES (1, 'ann', 10);")
    rows = server.rows(
        f"WITH big AS (SELECT id, amount * 2 AS twice FROM {name}) "
        f"SELECT id, twice FROM big UNION ALL SELECT id, amount FROM {name} EMIT CHANGES LIMIT 2;",
        auto_offset_reset="earliest",
    )
    assert sorted(rows) == [[1, 10], [1, 20]]


def test_a_statement_is_shown_and_what_depends_on_a_source_goes_with_it(server: Server, name: str) -> None:
    create(server, name)
    (shown,) = server.ksql(f"SHOW CREATE STREAM {name};")
    assert shown["statement"].startswith(f"CREATE STREAM {name} (ID INT KEY, WHO STRING, AMOUNT INT)")
    server.ksql(f"CREATE STREAM a_{name} AS SELECT * FROM {name}; PAUSE ALL;")
    server.ksql(f"CREATE STREAM b_{name} AS SELECT * FROM a_{name}; PAUSE ALL;")
    refused = server.ksql(f"DROP STREAM {name};", 400)
    assert "The following streams and/or tables read from this source" in refused["message"]
    server.ksql(f"DROP STREAM {name} DELETE TOPIC CASCADE;")
    left = [each["name"] for each in server.ksql("SHOW STREAMS;")[0]["streams"]]
    assert not [each for each in left if name in each.split("_")]
    deadline = time.monotonic() + 30
    while [each for each in server.ksql("SHOW TOPICS;")[0]["topics"] if each["name"].endswith(name)]:
        assert time.monotonic() < deadline
    assert "There is no stream" in server.ksql(f"SHOW CREATE STREAM {name};", 400)["message"]


def test_a_stream_and_a_table_are_read_as_they_were(server: Server, name: str) -> None:
    server.ksql(
        f"CREATE TABLE {name} (id INT PRIMARY KEY, v STRING) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions=2);"
        f"CREATE STREAM s_{name} (id INT KEY, v STRING) WITH (kafka_topic='{name}', value_format='JSON');"
    )
    for time_ms, number, value in ((1000, 1, "a"), (2000, 2, "b"), (3000, 1, "c")):
        server.ksql(f"INSERT INTO {name} (ROWTIME, id, v) VALUES ({time_ms}, {number}, '{value}');")
    server.ksql(f"DELETE FROM {name} WHERE id = 2;")
    for when, rows in (
        ("1970-01-01T00:00:00.500Z", []),
        ("1970-01-01T00:00:02Z", [[1, "a"], [2, "b"]]),
        ("3000", [[1, "c"], [2, "b"]]),
        ("2999-01-01", [[1, "c"]]),
    ):
        assert server.rows(f"SELECT * FROM {name} AS OF TIMESTAMP '{when}' ORDER BY id;") == rows, when
    past = "AS OF TIMESTAMP '1970-01-01T00:00:02'"
    assert server.rows(f"SELECT v FROM {name} {past} WHERE id = 2;") == [["b"]]
    assert server.rows(f"SELECT id, v FROM s_{name} {past} ORDER BY id LIMIT 1;") == [[1, "a"]]
    assert sorted(server.rows(f"SELECT id, v FROM s_{name} {past};")) == [[1, "a"], [2, "b"]]
    for text, words in (
        (f"SELECT * FROM {name} AS OF TIMESTAMP 'noon';", "is no time"),
        (f"SELECT * FROM {name} {past} EMIT CHANGES;", "AS OF stands in pull queries only"),
    ):
        answer = server.client.post("/query-stream", json={"sql": text})
        assert words in answer.json()["message"], answer.text


def test_a_replaced_query_reports_what_becomes_of_its_state(server: Server, name: str) -> None:
    create(server, name)
    made_so = f"TABLE c_{name} WITH (TTL='1 HOUR') AS SELECT id, COUNT(*) AS n FROM {name}"
    server.ksql(f"CREATE {made_so} GROUP BY id; PAUSE ALL;")
    server.ksql(f"CREATE TABLE d_{name} AS SELECT * FROM c_{name}; PAUSE ALL;")
    (made,) = server.ksql(f"CREATE OR REPLACE {made_so} WHERE amount > 1 GROUP BY id;")
    replaced = made["replacedQuery"]
    assert replaced["queryId"].startswith(f"CTAS_C_{name}_")
    assert replaced["stateKept"] == ["Aggregate-Aggregate-Materialize"]
    assert (replaced["stateNew"], replaced["stateLost"]) == ([], [])
    assert replaced["readBy"] == [f"D_{name}"]
    server.ksql(f"PAUSE ALL; DROP TABLE c_{name} CASCADE;")
