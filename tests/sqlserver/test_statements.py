"""/ksql: statements, their entities, and their errors with ksqlDB's codes and words."""

from __future__ import annotations

import pytest

from tests.sqlserver.servers import EARLIEST, Server


def create(server: Server, name: str, partitions: int = 1) -> None:
    server.ksql(
        f"CREATE STREAM {name} (id INT KEY, who STRING, amount INT) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions={partitions});"
    )


def test_a_stream_is_created_shown_described_and_dropped(server: Server, name: str) -> None:
    (made,) = server.ksql(
        f"CREATE STREAM {name} (id INT KEY, d DECIMAL(4, 2), xs ARRAY<STRUCT<a INT>>) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions=3);"
    )
    assert made["@type"] == "currentStatus"
    assert made["commandId"] == f"stream/`{name}`/create"
    assert made["commandStatus"] == {"status": "SUCCESS", "message": "Stream created", "queryId": None}
    (shown,) = server.ksql("SHOW STREAMS;")
    assert {
        "type": "STREAM", "name": name, "topic": name, "keyFormat": "KAFKA", "valueFormat": "JSON",
        "isWindowed": False,
    } in shown["streams"]  # fmt: skip
    (described,) = server.ksql(f"DESCRIBE {name} EXTENDED;")
    found = described["sourceDescription"]
    assert [(field["name"], field["schema"]["type"], field.get("type")) for field in found["fields"]] == [
        ("ID", "INTEGER", "KEY"), ("D", "DECIMAL", None), ("XS", "ARRAY", None),
    ]  # fmt: skip
    assert (found["partitions"], found["replication"]) == (3, 1)
    answer = server.client.get(f"/status/stream/{name}/create").json()
    assert answer == {"status": "SUCCESS", "message": "Stream created", "queryId": None}
    (again,) = server.ksql(
        f"CREATE STREAM IF NOT EXISTS {name} (x INT) WITH (kafka_topic='t', value_format='JSON');"
    )
    assert again["commandStatus"]["message"] == (
        f"Cannot add stream `{name}`: A stream with the same name already exists."
    )
    (dropped,) = server.ksql(f"DROP STREAM {name} DELETE TOPIC;")
    assert dropped["commandStatus"]["message"] == f"Source `{name}` (topic: {name}) was dropped."
    assert name not in [topic["name"] for topic in server.ksql("SHOW TOPICS;")[0]["topics"]]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("SELEC 1;", 40001, "line 1:1"),
        ("DROP STREAM nowhere;", 40001, "Source NOWHERE does not exist."),
        ("DESCRIBE nowhere;", 40001, "Could not find STREAM/TABLE 'NOWHERE' in the Metastore"),
        ("SELECT * FROM x;", 40002, "should be issued to the websocket endpoint '/query'"),
        ("TERMINATE q_1;", 40001, "Unknown queryId: Q_1"),
        ("EXPLAIN q_1;", 40001, "does not exist, use SHOW QUERIES"),
        ("CREATE STREAM x (a INT) WITH (kafka_topic='absent', value_format='JSON');", 40001,
         "Topic 'absent' does not exist. If you want to create a new topic"),
        ("CREATE STREAM x WITH (kafka_topic='absent', value_format='AVRO');", 40001,
         "ksql.schema.registry.url"),
        ("SET 'no.such'='x';", 40001, "Unknown property: no.such"),
        ("ASSERT TOPIC absent TIMEOUT 10 MILLISECONDS;", 41700, "Topic absent does not exist"),
        ("DESCRIBE FUNCTION nope;", 40001, "Can't find any functions with the name 'NOPE'"),
        ("INSERT INTO nowhere VALUES (1);", 40001, "Cannot insert values into an unknown stream/table"),
    ],
)  # fmt: skip
def test_a_statement_that_is_wrong_is_refused_with_its_code(
    server: Server, text: str, code: int, words: str
) -> None:
    answer = server.ksql(text, status=code // 100)
    assert (answer["@type"], answer["error_code"], answer["statementText"]) == ("statement_error", code, text)
    assert words in answer["message"]


def test_what_succeeded_before_a_failure_is_told(server: Server, name: str) -> None:
    create(server, name)
    answer = server.ksql(f"DESCRIBE {name}; DROP STREAM absent; SHOW STREAMS;", status=400)
    assert [each["@type"] for each in answer["entities"]] == ["sourceDescription"]
    assert answer["statementText"] == "DROP STREAM absent;"


def test_settings_and_variables_last_for_one_request(server: Server, name: str) -> None:
    (shown, found) = server.ksql(
        "SET 'auto.offset.reset'='earliest'; DEFINE x='1'; DEFINE y='${x}2'; SHOW PROPERTIES; SHOW VARIABLES;"
    )
    assert shown["overwrittenProperties"] == ["ksql.streams.auto.offset.reset"]
    assert found["variables"] == [{"name": "X", "value": "1"}, {"name": "Y", "value": "12"}]
    (shown,) = server.ksql("SHOW PROPERTIES;")
    assert shown["overwrittenProperties"] == []


def test_types_functions_and_topics_are_listed(server: Server, name: str) -> None:
    server.ksql(f"CREATE TYPE t_{name} AS STRUCT<a INT, b STRING>;")
    types, functions, lpad, topics = server.ksql(
        "SHOW TYPES; SHOW FUNCTIONS; DESCRIBE FUNCTION lpad; SHOW ALL TOPICS EXTENDED;"
    )
    assert types["types"][f"T_{name}"]["type"] == "STRUCT"
    assert {"name": "COUNT", "type": "AGGREGATE", "category": "OTHER"} in functions["functions"]
    assert lpad["functions"][0]["returnType"] == "STRING"
    assert "_confluent-ksql-default__command_topic" in [topic["name"] for topic in topics["topics"]]


def test_explain_shows_the_plan_of_a_statement(server: Server, name: str) -> None:
    create(server, name)
    (told,) = server.ksql(f"EXPLAIN SELECT who, COUNT(*) FROM {name} GROUP BY who EMIT CHANGES;")
    assert told["@type"] == "queryDescription"
    assert "Aggregate" in told["queryDescription"]["executionPlan"]
    assert told["queryDescription"]["sources"] == [name]


def test_inserted_rows_are_read_by_every_kind_of_query(server: Server, name: str) -> None:
    create(server, name, partitions=2)
    server.ksql(f"INSERT INTO {name} VALUES (1, 'ann', 10); INSERT INTO {name} (amount, id) VALUES (20, 2);")
    assert server.rows(f"SELECT * FROM {name} WHERE amount > 15;") == [[2, None, 20]]
    pushed = server.rows(
        f"SELECT who, amount FROM {name} EMIT CHANGES LIMIT 2;", auto_offset_reset="earliest"
    )
    assert sorted(pushed, key=str) == [["ann", 10], [None, 20]]
    counted = server.rows(
        f"SELECT id % 2 AS odd, SUM(amount) AS total FROM {name} GROUP BY id % 2 EMIT CHANGES LIMIT 2;",
        auto_offset_reset="earliest",
    )
    assert sorted(counted) == [[0, 20], [1, 10]]
    answer = server.client.post(
        "/query", json={"ksql": f"SELECT id FROM {name} EMIT CHANGES LIMIT 1;", "streamsProperties": EARLIEST}
    )
    header, row, final = answer.json()
    assert header["header"]["schema"] == "`ID` INTEGER KEY"
    assert row["row"]["columns"] in ([1], [2])
    assert final == {"finalMessage": "Limit Reached"}
    printed = server.client.post("/query", json={"ksql": f"PRINT {name} FROM BEGINNING LIMIT 2;"}).text
    assert "Key format: KAFKA_INT" in printed
    assert 'value: {"WHO":"ann","AMOUNT":10}' in printed


def test_a_pull_query_needs_a_materialised_table_and_takes_no_joins(server: Server, name: str) -> None:
    server.ksql(
        f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions=1);"
    )
    for text, words in (
        (f"SELECT * FROM {name};", f"The `{name}` table isn't queryable. To derive a queryable table"),
        (f"SELECT id, COUNT(*) FROM {name} GROUP BY id;", "Pull queries don't support GROUP BY clauses"),
    ):
        answer = server.client.post("/query-stream", json={"sql": text})
        assert answer.status_code == 400
        assert words in answer.json()["message"]


def test_a_source_table_answers_look_ups_and_scans(server: Server, name: str) -> None:
    server.ksql(
        f"CREATE TABLE {name} (id INT PRIMARY KEY, v STRING) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions=2);"
        f"CREATE SOURCE TABLE v_{name} (id INT PRIMARY KEY, v STRING) "
        f"WITH (kafka_topic='{name}', value_format='JSON');"
    )
    for number in range(5):
        server.ksql(f"INSERT INTO {name} VALUES ({number}, 'x{number}');")
    server.ksql(f"INSERT INTO {name} VALUES (3, 'new');")
    assert server.wait_for_rows(f"SELECT * FROM v_{name} WHERE id = 3;", bool) == [[3, "new"]]
    assert sorted(server.rows(f"SELECT v FROM v_{name} WHERE id IN (1, 2) OR id = 4;")) == [
        ["x1"],
        ["x2"],
        ["x4"],
    ]
    assert sorted(server.rows(f"SELECT id FROM v_{name} WHERE id >= 3;")) == [[3], [4]]
    assert len(server.rows(f"SELECT * FROM v_{name} LIMIT 2;")) == 2
