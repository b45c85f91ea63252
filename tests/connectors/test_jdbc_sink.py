"""Records to rows of real databases: modes, keys, tables that are made and changed, names, repeated
batches."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.sink import SinkTask
from penstock.connect.api.test_kit import run_sink
from penstock.connect.config.validation import validate
from penstock.connect.connectors.jdbc.sink import JdbcSink
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, DataError
from penstock.connect.plugins import load_plugins
from penstock.protocol.topic_partition import TopicPartition
from tests.connectors.test_jdbc_source import DEFAULTS, NASTY, Run, database

__all__ = ["database"]
USER = s.struct_schema({"id": s.INT32, "name": s.STRING.as_optional(), "score": s.FLOAT64.as_optional()})
PLACE = TopicPartition("users", 0)


def user(
    offset: int, number: int, name: str | None, *, key: Any = None, topic: str = "users"
) -> ConnectRecord:
    value = Struct(USER, {"id": number, "name": name, "score": number / 2})
    key_schema = None if key is None else s.INT32
    return ConnectRecord(topic, 0, key, key_schema, value, USER, offset=offset)


def write(config: dict[str, str], records: list[ConnectRecord], **more: str) -> None:
    settings = {"name": "snk", **config} | {name.replace("_", "."): value for name, value in more.items()}
    run_sink(JdbcSink, settings, records)


def rows(run: Run, statement: str) -> list[Any]:
    return sorted(map(tuple, run(statement)))


def test_rows_are_inserted_once_although_their_batch_comes_again(
    database: tuple[Run, dict[str, str]],
) -> None:
    run, config = database
    records = [user(0, 1, "a"), user(1, 2, None)]
    for batch in (records, records, [*records, user(2, 3, "c")]):
        write(config, batch, auto_create="true")
    assert rows(run, "SELECT id, name, score FROM users ORDER BY id") == [
        (1, "a", 0.5),
        (2, None, 1.0),
        (3, "c", 1.5),
    ]
    assert rows(run, "SELECT topic, next_offset FROM penstock_connect_offsets") == [("users", 3)]


def test_topics_and_connectors_whose_names_differ_in_case_alone_have_their_own_offsets(
    database: tuple[Run, dict[str, str]],
) -> None:
    run, config = database
    for name, topic, number in (("snk", "users", 1), ("snk", "USERS", 2), ("SNK", "users", 3)):
        record = user(0, number, "a", topic=topic)
        write(config, [record], auto_create="true", table_name_format="people", name=name)
    assert rows(run, "SELECT id FROM people") == [(1,), (2,), (3,)]


def test_a_batch_that_dies_before_its_end_leaves_nothing(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    write(config, [user(0, 1, "a")], auto_create="true")
    task: SinkTask = JdbcSink.TASK({"name": "snk", **config})
    assert task.stored_offsets([PLACE]) == {PLACE: 1}
    task.put([user(1, 2, "b"), ConnectRecord("users", 0, value="no struct", offset=2)])
    with pytest.raises(DataError):
        task.flush({PLACE: 3})
    task.close()
    assert rows(run, "SELECT id FROM users") == [(1,)]


def test_rows_are_upserted_and_deleted_by_their_key(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    config |= {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id", "auto.create": "true",
               "delete.enabled": "true", "batch.size": "2"}  # fmt: skip
    gone = ConnectRecord("users", 0, 2, s.INT32, None, None, offset=4)
    changes = [
        user(0, 1, "a", key=1),
        user(1, 2, "b", key=2),
        user(2, 1, "c", key=1),
        user(3, 3, "d", key=3),
        gone,
    ]
    for _ in range(2):
        write(config, [*changes, user(5, 4, "e", key=4)])
    assert rows(run, "SELECT id, name FROM users") == [(1, "c"), (3, "d"), (4, "e")]


def test_rows_are_updated_and_none_is_made(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    write(config, [user(0, 1, "a")], auto_create="true", pk_mode="record_value", pk_fields="id")
    write(
        config,
        [user(1, 1, "b"), user(2, 2, "new")],
        insert_mode="update",
        pk_mode="record_value",
        pk_fields="id",
    )
    assert rows(run, "SELECT id, name FROM users") == [(1, "b")]


def test_the_place_in_kafka_can_be_the_key(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    for _ in range(2):
        write(
            config,
            [user(7, 1, "a"), user(8, 1, "a")],
            auto_create="true",
            insert_mode="upsert",
            pk_mode="kafka",
        )
    found = rows(run, "SELECT __connect_topic, __connect_partition, __connect_offset, id FROM users")
    assert found == [("users", 0, 7, 1), ("users", 0, 8, 1)]


def test_columns_are_added_when_that_is_allowed(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    write(config, [user(0, 1, "a")], auto_create="true")
    wider = USER.with_fields(
        {"id": s.INT32, "color": s.STRING.as_optional(), "size": s.INT64.with_default(9)}
    )
    record = ConnectRecord("users", 0, None, None, Struct(wider, {"id": 2, "color": "red"}), wider, offset=1)
    with pytest.raises(ConnectError, match=r"auto\.evolve"):
        write(config, [record])
    write(config, [user(1, 5, "old"), ConnectRecord(**{**vars(record), "offset": 2})], auto_evolve="true")
    assert rows(run, "SELECT id, color, size FROM users WHERE id IN (2)") == [(2, "red", 9)]
    needed = USER.with_fields({"id": s.INT32, "must": s.STRING})
    bad = ConnectRecord("users", 0, None, None, Struct(needed, {"id": 2, "must": "x"}), needed, offset=3)
    with pytest.raises(ConnectError, match="not optional"):
        write(config, [bad], auto_evolve="true")
    with pytest.raises(ConnectError, match=r"auto\.create"):
        write(config, [user(0, 1, "a", topic="absent")])


def test_names_that_would_be_sql_are_only_names(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    write(config, [user(0, 1, "a", topic="victims")], auto_create="true")
    odd = "`'\":x" if "mariadb" in config["connection.url"] else "`'\"%s:x"
    nasty = s.struct_schema({NASTY: s.INT32, odd: s.STRING.as_optional()})
    value = Struct(nasty, {NASTY: 1, odd: "' OR 1=1; --"})
    record = ConnectRecord(NASTY, 0, None, None, value, nasty, offset=0)
    modes = {"auto.create": "true", "insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": NASTY}
    for _ in range(2):
        write(config | modes, [record])
    quote = "`" if "mariadb" in config["connection.url"] else '"'
    assert rows(run, f"SELECT * FROM {quote}{NASTY.replace(quote, quote * 2)}{quote}") == [
        (1, "' OR 1=1; --")
    ]
    wider = nasty.with_fields({NASTY: s.INT32, 'y" TEXT); DROP TABLE victims; --': s.STRING.as_optional()})
    more = ConnectRecord(NASTY, 0, None, None, Struct(wider, {NASTY: 2}), wider, offset=1)
    write(config | modes, [more], auto_evolve="true")
    assert rows(run, "SELECT id FROM victims") == [(1,)]
    with pytest.raises(ConnectError, match="NEVER"):
        write(config | modes, [record], quote_sql_identifiers="NEVER")


def test_all_types_are_made_and_written(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 678_000, tzinfo=dt.UTC)
    fields = {
        "a": (s.INT8, 1), "b": (s.INT16, 2), "c": (s.INT64, 3), "d": (s.FLOAT32, 1.5), "e": (s.BOOLEAN, True),
        "f": (s.BYTES, b"\x00\xff"), "g": (s.decimal_schema(2), Decimal("1.25")), "h": (s.DATE, moment),
        "i": (s.TIME, moment), "j": (s.TIMESTAMP, moment),
    }  # fmt: skip
    schema = s.struct_schema({name: kind for name, (kind, _) in fields.items()})
    value = Struct(schema, {name: value for name, (_, value) in fields.items()})
    write(config, [ConnectRecord("kinds", 0, None, None, value, schema, offset=0)], auto_create="true")
    [found] = rows(run, "SELECT a, b, c, d, e, f, g, h, j FROM kinds")
    assert found[:4] == (1, 2, 3, 1.5)
    assert bytes(found[5]) == b"\x00\xff"
    assert float(found[6]) == 1.25
    assert str(found[8])[:23] == "2024-01-02 03:04:05.678"


def test_only_chosen_fields_are_written(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    config |= {"pk.mode": "record_value", "pk.fields": "id", "table.name.format": "copy_${topic}"}
    write(config, [user(0, 1, "a")], auto_create="true", fields_whitelist="name")
    assert rows(run, "SELECT * FROM copy_users") == [(1, "a")]


def test_every_mistake_of_a_configuration_is_reported_at_once() -> None:
    plugin = load_plugins().find("io.confluent.connect.jdbc.JdbcSinkConnector")
    config = {
        "name": "x", "connector.class": "JdbcSink", "topics": "t", "connection.url": "jdbc:sqlserver://x",
        "insert.mode": "upsert", "delete.enabled": "true", "batch.size": "0", "mssql.use.merge.holdlock":
            "true",
    }  # fmt: skip
    named = {value.key.name for value in validate(plugin, config, DEFAULTS).values if value.errors}
    assert named == {"connection.url", "pk.mode", "delete.enabled", "batch.size", "mssql.use.merge.holdlock"}
