"""PostgreSQL to MariaDB through a worker on Spark, a topic between them."""

from __future__ import annotations

from penstock.testing.broker import Broker
from tests.connectors.servers import MariaDb, Postgres
from tests.connectors.worker import Worker, eventually
from tests.peers.topic_reader import read_topic

JSON = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}


def test_rows_go_through_a_topic_into_another_database(
    worker: Worker, broker: Broker, postgres: Postgres, mariadb: MariaDb
) -> None:
    postgres.run("DROP TABLE IF EXISTS items")
    mariadb.run("DROP TABLE IF EXISTS `jdbc-items`, once")
    postgres.run("CREATE TABLE items (id serial PRIMARY KEY, name text, price numeric(8,2))")
    postgres.run(
        "INSERT INTO items (name, price) VALUES (%s, %s)", many=[(f"n{i}", i / 4) for i in range(500)]
    )
    source = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "connection.url": postgres.url,
        "connection.user": "postgres", "table.whitelist": "items", "mode": "incrementing",
        "incrementing.column.name": "id", "topic.prefix": "jdbc-", "poll.interval.ms": "200", **JSON,
    }  # fmt: skip
    sink = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "connection.url": mariadb.url,
        "topics": "jdbc-items", "auto.create": "true", **JSON,
    }  # fmt: skip
    upsert = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}
    worker.create("jdbc-in", source)
    worker.create("jdbc-out", sink | upsert)
    worker.create("jdbc-once", sink | {"table.name.format": "once"})
    worker.await_state("jdbc-in", "RUNNING")

    def rows(table: str) -> list[tuple[int, str, float]]:
        if (table,) not in mariadb.run("SHOW TABLES"):
            return []
        return [
            (n, text, float(p))
            for n, text, p in mariadb.run(f"SELECT id, name, price FROM `{table}` ORDER BY id")
        ]

    expected = [(i + 1, f"n{i}", i / 4) for i in range(500)]
    for table in ("jdbc-items", "once"):
        eventually(lambda table=table: rows(table) == expected, f"all rows in {table}")
    postgres.run("INSERT INTO items (name, price) VALUES ('later', 1)")
    eventually(lambda: rows("once")[500:] == [(501, "later", 1.0)], "the row that came later")
    assert len(read_topic(broker.bootstrap_servers, "jdbc-items")) == 501
    _, told = worker.call("GET", "/connectors/jdbc-in/offsets")
    assert told["offsets"] == [
        {"partition": {"protocol": "1", "table": "postgres.public.items"}, "offset": {"incrementing": 501}}
    ]
    _, plugins = worker.call("GET", "/connector-plugins")
    assert {
        "io.confluent.connect.jdbc.JdbcSourceConnector",
        "io.confluent.connect.jdbc.JdbcSinkConnector",
    } <= {each["class"] for each in plugins}
    for name in ("jdbc-in", "jdbc-out", "jdbc-once"):
        worker.call("DELETE", f"/connectors/{name}")
