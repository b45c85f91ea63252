"""Change capture of MariaDB: snapshot, changes, schemas, long transactions, kills. MySQL itself was not
there."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from penstock.connect.api.source import SourceOffsets, SourceRecord
from penstock.connect.connectors.mysql.columns import from_catalog
from penstock.connect.connectors.mysql.reading import advanced
from penstock.connect.connectors.mysql.source import MySqlSource
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, RetriableError
from tests.connectors.servers import MariaDb


class Capture:
    """The source as a worker drives it: batch after batch, each from where the last one was committed."""

    def __init__(self, server: MariaDb, table: str, **more: str) -> None:
        self.config = {
            "database.hostname": "127.0.0.1", "database.port": str(server.port), "database.user": "root",
            "topic.prefix": "dbz", "table.include.list": rf"shop\.{table}", "include.schema.changes": "false",
        } | {name.replace("_", "."): value for name, value in more.items()}  # fmt: skip
        self.offsets = SourceOffsets()

    @property
    def at(self) -> Any:
        return self.offsets.get({"server": "dbz"})

    def batch(self, polls: int = 1_000) -> list[ConnectRecord]:
        """One batch, of so many polls at most."""
        task = MySqlSource.TASK(self.config, self.offsets)
        found: list[SourceRecord] = []
        try:
            for _ in range(polls):
                if not (polled := task.poll()):
                    break
                found += polled
        finally:
            task.close()
        self.offsets = self.offsets.advanced([(each.partition, each.offset) for each in found])
        return [each.record for each in found if each.record is not None]

    def all(self) -> list[ConnectRecord]:
        """Batches until the source has no news."""
        found, made = [], MySqlSource(self.config)
        while made.has_news(self.offsets):
            found += self.batch()
        made.close()
        return found


def shown(records: list[ConnectRecord]) -> list[Any]:
    """op, key and the row after, or before for a deletion; None for a tombstone."""
    found = []
    for each in records:
        if each.value is None:
            found.append(None)
            continue
        row = each.value.get("after") or each.value.get("before")
        found.append((each.value.get("op"), *row.values.values()))
    return found


@pytest.fixture(scope="module")
def server(mariadb: MariaDb) -> MariaDb:
    return mariadb


def test_rows_then_changes_with_debeziums_names(server: MariaDb) -> None:
    server.run("CREATE OR REPLACE TABLE cdc_users (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, age INT)")
    server.run("INSERT INTO cdc_users VALUES (1, 'Ann', 7), (2, 'Bo', NULL)")
    capture = Capture(server, "cdc_users")
    first = capture.all()
    assert shown(first) == [("r", 1, "Ann", 7), ("r", 2, "Bo", None)]
    record = first[0]
    assert record.topic == "dbz.shop.cdc_users"
    assert record.key == Struct(record.key_schema, {"id": 1})  # type: ignore[arg-type]
    assert record.value_schema is not None
    assert record.value_schema.name == "dbz.shop.cdc_users.Envelope"
    source = record.value.get("source")
    assert (source.get("connector"), source.get("db"), source.get("table"), source.get("snapshot")) == (
        "mariadb", "shop", "cdc_users", "last",
    )  # fmt: skip
    server.run("INSERT INTO cdc_users VALUES (3, 'Cy', 1)")
    server.run("UPDATE cdc_users SET age = 8 WHERE id = 1")
    server.run("UPDATE cdc_users SET id = 9 WHERE id = 2")
    server.run("DELETE FROM cdc_users WHERE id = 3")
    changes = capture.all()
    assert shown(changes) == [
        ("c", 3, "Cy", 1), ("u", 1, "Ann", 8), ("d", 2, "Bo", None), None, ("c", 9, "Bo", None),
        ("d", 3, "Cy", 1), None,
    ]  # fmt: skip
    assert changes[1].value.get("before").get("age") == 7
    assert changes[0].value.get("source").get("gtid").startswith("0-1-")
    assert [each.key for each in changes[2].headers] == ["__debezium.newkey"]
    assert changes[0].value_schema == record.value_schema  # the log and the catalog agree
    assert capture.all() == []


def test_every_kind_of_column_is_the_same_in_the_snapshot_and_in_the_log(server: MariaDb) -> None:
    columns = {
        "id": ("INT PRIMARY KEY", "1", 1), "t": ("TINYINT UNSIGNED", "255", 255),
        "b": ("BIGINT UNSIGNED", "18446744073709551615", -1), "f": ("FLOAT", "1.5", 1.5),
        "d": ("DECIMAL(10,3)", "-1.25", Decimal("-1.250")),
        "v": ("VARCHAR(9) CHARACTER SET utf8mb4", "'é'", "é"),
        "tx": ("TEXT", "'text'", "text"), "vb": ("VARBINARY(4)", "x'00ff'", b"\x00\xff"),
        "bl": ("BLOB", "x'01'", b"\x01"), "e": ("ENUM('a','it''s')", "'it''s'", "it's"),
        "st": ("SET('x','y','z')", "'z,x'", "x,z"), "da": ("DATE", "'2024-02-03'", 19756),
        "ti": ("TIME(3)", "'-01:00:00.5'", -3_600_500_000),
        "dt": ("DATETIME", "'2024-02-03 04:05:06'", 1706933106000),
        "d6": ("DATETIME(6)", "'2024-02-03 04:05:06.123456'", 1706933106123456),
        "ts": ("TIMESTAMP(3) NULL", "'2024-02-03 04:05:06.789'", "2024-02-03T04:05:06.789Z"),
        "y": ("YEAR", "2024", 2024), "b1": ("BIT(1)", "b'1'", True),
        "b9": ("BIT(9)", "b'100000001'", b"\x01\x01"),
        "j": ("JSON", "'{\"a\":1}'", '{"a":1}'), "nn": ("INT NOT NULL DEFAULT 4", "5", 5),
    }  # fmt: skip
    made = ", ".join(f"`{name}` {kind}" for name, (kind, _, _) in columns.items())
    values = ", ".join(text for _, text, _ in columns.values())
    server.run(f"CREATE OR REPLACE TABLE cdc_kinds ({made})")
    insert = f"SET STATEMENT time_zone = '+00:00' FOR INSERT INTO cdc_kinds VALUES ({values})"
    server.run(insert)
    capture = Capture(server, "cdc_kinds")
    [read] = capture.all()
    server.run("DELETE FROM cdc_kinds")
    server.run(insert)
    *_, created = capture.all()
    expected = {name: value for name, (_, _, value) in columns.items()}
    assert dict(read.value.get("after").items()) == expected
    assert dict(created.value.get("after").items()) == expected
    assert read.value_schema == created.value_schema
    precise = Capture(server, "cdc_kinds", decimal_handling_mode="string", time_precision_mode="connect",
                      bigint_unsigned_handling_mode="precise")  # fmt: skip
    after = precise.all()[0].value.get("after")
    assert (after.get("d"), after.get("b")) == ("-1.250", Decimal(18446744073709551615))
    assert after.get("d6") == dt.datetime(2024, 2, 3, 4, 5, 6, 123456, tzinfo=dt.UTC)


def test_a_schema_that_changes_is_followed_and_written(server: MariaDb) -> None:
    server.run("CREATE OR REPLACE TABLE cdc_grows (id INT PRIMARY KEY)")
    capture = Capture(server, "cdc_grows", include_schema_changes="true", snapshot_mode="no_data")
    capture.all()
    server.run("INSERT INTO cdc_grows VALUES (1)")
    server.run("ALTER TABLE cdc_grows ADD COLUMN city VARCHAR(9)")
    server.run("INSERT INTO cdc_grows VALUES (2, 'x')")
    server.run("ALTER TABLE cdc_grows DROP COLUMN city")
    server.run("INSERT INTO cdc_grows VALUES (3)")
    found = capture.all()
    assert shown([each for each in found if each.topic != "dbz"]) == [("c", 1), ("c", 2, "x"), ("c", 3)]
    statements = [each.value.get("ddl") for each in found if each.topic == "dbz"]
    assert statements == [
        "ALTER TABLE cdc_grows ADD COLUMN city VARCHAR(9)", "ALTER TABLE cdc_grows DROP COLUMN city",
    ]  # fmt: skip
    assert found[1].key.get("databaseName") == "shop"


def test_changes_during_the_snapshot_come_once(server: MariaDb) -> None:
    """The log is read from before the snapshot, and what the snapshot saw is left out."""
    for name in ("cdc_one", "cdc_two"):
        server.run(f"CREATE OR REPLACE TABLE {name} (id INT PRIMARY KEY)")
    capture = Capture(server, "cdc_(one|two)")
    capture.batch()  # where it begins
    server.run("INSERT INTO cdc_one VALUES (1)")
    server.run("INSERT INTO cdc_two VALUES (1)")
    assert shown(capture.batch()) == [("r", 1)]
    server.run("INSERT INTO cdc_one VALUES (2)")
    server.run("INSERT INTO cdc_two VALUES (2)")
    assert shown(capture.batch()) == [("r", 1), ("r", 2)]
    server.run("INSERT INTO cdc_two VALUES (3)")
    rest = capture.all()
    assert [(each.topic[-3:], *row) for each, row in zip(rest, shown(rest), strict=True)] == [
        ("one", "c", 2), ("two", "c", 3),
    ]  # fmt: skip
    assert capture.at["seen"] == {}


@pytest.mark.parametrize("polls", [1, 3])
def test_a_long_transaction_may_take_many_batches(server: MariaDb, polls: int) -> None:
    server.run("CREATE OR REPLACE TABLE cdc_long (id INT PRIMARY KEY)")
    capture = Capture(server, "cdc_long", snapshot_mode="never", max_batch_size="20")
    capture.all()
    server.run("INSERT INTO cdc_long SELECT seq FROM seq_1_to_500")
    server.run("INSERT INTO cdc_long VALUES (501), (502)")
    found: list[ConnectRecord] = []
    while batch := capture.batch(polls):
        found += batch
    assert [each.value.get("after").get("id") for each in found] == list(range(1, 503))
    assert capture.all() == []


def test_a_new_log_file_and_a_server_that_is_killed(server: MariaDb) -> None:
    server.run("CREATE OR REPLACE TABLE cdc_file (id INT PRIMARY KEY)")
    capture = Capture(server, "cdc_file")
    capture.all()
    server.run("FLUSH BINARY LOGS")
    assert capture.all() == []
    server.run("INSERT INTO cdc_file VALUES (1)")
    server.kill()
    made = MySqlSource(capture.config)
    assert not made.has_news(capture.offsets)  # it is asked again
    with pytest.raises(RetriableError):
        capture.batch()
    server.start()
    server.run("INSERT INTO cdc_file VALUES (2)")
    assert shown(capture.all()) == [("c", 1), ("c", 2)]
    made.close()


def test_offsets_that_the_log_has_no_more_and_users_that_may_not(server: MariaDb) -> None:
    server.run("CREATE OR REPLACE TABLE cdc_gone (id INT PRIMARY KEY)")
    capture = Capture(server, "cdc_gone")
    capture.all()
    lost = {**capture.at, "file": "binlog.999999", "pos": 4, "gtids": ""}
    capture.offsets = SourceOffsets([({"server": "dbz"}, lost)])
    with pytest.raises(ConnectError, match="Reset its offsets"):
        capture.batch()
    refused = Capture(server, "cdc_gone", database_user="nobody", database_password="canary")
    with pytest.raises(ConnectError, match="refuses") as error:
        refused.batch()
    assert "canary" not in str(error.value)


def test_heartbeats_come_when_nothing_changes(server: MariaDb) -> None:
    server.run("CREATE OR REPLACE TABLE cdc_still (id INT PRIMARY KEY)")
    capture = Capture(server, "cdc_still")
    capture.all()
    capture.config["heartbeat.interval.ms"] = "1"
    [beat] = capture.batch()
    assert beat.topic == "__debezium-heartbeat.dbz"
    assert beat.key.get("serverName") == "dbz"


def test_every_mistake_is_reported(server: MariaDb) -> None:
    bad = Capture(
        server, "(", table_exclude_list="x", database_hostname="169.254.169.254", signal_data_collection="a.b"
    )
    assert {name for name, _ in MySqlSource.check(bad.config)} == {
        "table.include.list", "table.exclude.list", "database.hostname", "signal.data.collection",
    }  # fmt: skip
    assert "database.password" in MySqlSource.CONFIG.secret


def test_positions_and_catalog_columns_without_a_server() -> None:
    assert advanced("", "0-1-5") == "0-1-5"
    assert advanced("0-1-5,1-2-3", "0-2-6") == "0-2-6,1-2-3"
    assert advanced("0-1-5", None) == "0-1-5"
    row = ("e", "enum", "enum('a,b','c''d')", "NO", "", None, None, None)
    assert from_catalog(row).values == ("a,b", "c'd")
