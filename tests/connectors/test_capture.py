"""Change capture through a worker on Spark: topics, keys, offsets, what a deletion leaves."""

from __future__ import annotations

import json

from penstock.testing.broker import Broker
from tests.connectors.servers import Postgres
from tests.connectors.worker import Worker, eventually
from tests.peers.topic_reader import read_topic

PLAIN = {
    f"{side}.converter{name}": value
    for side in ("key", "value")
    for name, value in (("", "JsonConverter"), (".schemas.enable", "false"))
}


def test_changes_of_postgresql_arrive_in_their_topic(
    worker: Worker, broker: Broker, postgres: Postgres
) -> None:
    postgres.run("DROP TABLE IF EXISTS people")
    postgres.run("CREATE TABLE people (id int PRIMARY KEY, name text)")
    postgres.run("INSERT INTO people VALUES (1, 'a')")
    config = {
        "connector.class": "PostgresConnector", "database.hostname": "127.0.0.1",
        "database.port": str(postgres.port), "database.user": "postgres", "database.dbname": "postgres",
        "topic.prefix": "live", "table.include.list": "public.people", "slot.name": "live",
        "publication.name": "live", "slot.drop.on.stop": "true", **PLAIN,
    }  # fmt: skip
    worker.create("live", config)

    def events() -> list[tuple[object, object]]:
        try:
            found = read_topic(broker.bootstrap_servers, "live.public.people")
        except KeyError:
            return []
        return [
            (json.loads(each.key())["id"], None if each.value() is None else json.loads(each.value())["op"])
            for each in found
        ]

    eventually(lambda: events() == [(1, "r")], "the snapshot")
    postgres.run("INSERT INTO people VALUES (2, 'b')")
    postgres.run("UPDATE people SET name = 'c' WHERE id = 2")
    postgres.run("DELETE FROM people WHERE id = 1")
    eventually(lambda: events() == [(1, "r"), (2, "c"), (2, "u"), (1, "d"), (1, None)], "every change")
    _, told = worker.call("GET", "/connectors/live/offsets")
    [offset] = told["offsets"]
    assert offset["partition"] == {"server": "live"}
    assert offset["offset"]["lsn"] > 0
    worker.call("DELETE", "/connectors/live")
    eventually(
        lambda: not postgres.run("SELECT 1 FROM pg_replication_slots WHERE slot_name = 'live'"), "no slot"
    )
