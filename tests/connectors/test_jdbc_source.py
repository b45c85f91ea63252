"""Rows of real databases as records: modes, offsets, types, names. Without a worker; test_jdbc has one."""

from __future__ import annotations

import datetime as dt
import sqlite3
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.connect.api.guards import ALLOWED_PATHS
from penstock.connect.api.source import SourceOffsets, SourceRecord
from penstock.connect.api.test_kit import run_source
from penstock.connect.config.validation import Defaults, validate
from penstock.connect.connectors.jdbc.source import JdbcSource
from penstock.connect.data import schema as s
from penstock.connect.errors import ConnectError
from penstock.connect.plugins import load_plugins
from tests.connectors.servers import MariaDb, Postgres
from tests.connectors.worker import eventually

STRING = "org.apache.kafka.connect.storage.StringConverter"
DEFAULTS = Defaults(STRING, STRING, "org.apache.kafka.connect.storage.SimpleHeaderConverter")
Run = Any
NASTY = 'x"; DROP TABLE victims; --'


@pytest.fixture(params=["postgresql", "mariadb", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Run, dict[str, str]]:
    """How to run a statement, and the settings of a connection."""
    if request.param == "sqlite":
        path = tmp_path / "shop.db"

        def run(statement: str, *_: Any) -> list[Any]:
            with sqlite3.connect(path) as connection:
                return connection.execute(statement).fetchall()

        return run, {"connection.url": f"jdbc:sqlite:{path}", ALLOWED_PATHS: str(tmp_path)}
    if request.param == "mariadb":
        maria: MariaDb = request.getfixturevalue("mariadb")
        for (name,) in maria.run("SHOW TABLES"):
            maria.run(f"DROP TABLE `{name.replace('`', '``')}`")
        return maria.run, {"connection.url": maria.url}
    server: Postgres = request.getfixturevalue("postgres")
    server.run("DROP SCHEMA public CASCADE")
    server.run("CREATE SCHEMA public")
    return server.run, {"connection.url": server.url, "connection.user": "postgres"}


def read(config: dict[str, str], offsets: Any = (), polls: int = 50, **more: str) -> list[SourceRecord]:
    settings = {"topic.prefix": "db-", "name": "src", **config}
    settings |= {name.replace("__", "+").replace("_", "."): value for name, value in more.items()}
    return run_source(JdbcSource, settings, offsets, polls)


def ids(records: list[SourceRecord]) -> list[Any]:
    return [each.record.value.get("id") for each in records]


def after(records: list[SourceRecord]) -> list[Any]:
    return [(records[-1].partition, records[-1].offset)]


def test_incrementing_reads_only_what_is_new(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    run("CREATE TABLE users (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20))")
    run("INSERT INTO users VALUES (1, 'a'), (2, NULL), (7, 'ö')")
    first = read(config, mode="incrementing", incrementing_column_name="id", batch_max_rows="2")
    assert ids(first) == [1, 2, 7]
    assert {each.record.topic for each in first} == {"db-users"}
    assert first[-1].offset == {"incrementing": 7}
    assert [each.record.value.get("name") for each in first] == ["a", None, "ö"]
    schema = first[0].record.value_schema
    assert (schema.name, schema.field("id").schema, schema.field("name").schema) == (
        "users", s.INT32, s.STRING.as_optional(),
    )  # fmt: skip
    run("INSERT INTO users VALUES (8, 'b'), (3, 'too late')")
    assert ids(read(config, after(first), mode="incrementing")) == [8]


def test_timestamps_read_changes_and_never_cut_a_moment_apart(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    run("CREATE TABLE orders (id INTEGER NOT NULL PRIMARY KEY, at TIMESTAMP(6) NOT NULL)"
        if "sqlite" not in config["connection.url"]
        else "CREATE TABLE orders (id INTEGER NOT NULL PRIMARY KEY, at TIMESTAMP NOT NULL)")  # fmt: skip
    moments = [
        "2024-01-01 00:00:00.000001",
        *["2024-01-01 00:00:00.000002"] * 5,
        "2024-01-01 00:00:01.000000",
    ]
    for number, moment in enumerate(moments):
        run(f"INSERT INTO orders VALUES ({number}, '{moment}')")
    config |= {"mode": "timestamp", "timestamp.column.name": "at", "batch.max.rows": "3"}
    some = read(config, polls=1)
    assert sorted(ids(some)) == [0, 1, 2, 3, 4, 5]
    assert some[-1].offset == {"timestamp": 1704067200000, "timestamp_nanos": 2000}
    assert ids(read(config, after(some))) == [6]
    both = config | {"mode": "timestamp+incrementing", "incrementing.column.name": "id"}
    some = read(both, polls=1)
    assert ids(some) == [0, 1, 2]
    rest = read(both, after(some))
    assert ids(rest) == [3, 4, 5, 6]
    run("UPDATE orders SET at = '2024-01-01 00:00:02' WHERE id = 1")
    assert ids(read(both, after(rest))) == [1]


def test_a_look_finds_whether_there_is_anything_new(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    run("CREATE TABLE users (id INTEGER NOT NULL PRIMARY KEY, at TIMESTAMP NOT NULL)")
    run("INSERT INTO users VALUES (1, '2020-01-01 00:00:00'), (2, '2020-01-02 00:00:00')")
    settings = {"topic.prefix": "db-", "name": "src", "poll.interval.ms": "1", **config}
    modes = [{"mode": "incrementing"}, {"mode": "timestamp", "timestamp.column.name": "at"}]
    modes.append({"mode": "incrementing", "query": "SELECT * FROM users", "incrementing.column.name": "id"})
    for mode in modes:
        found = run_source(JdbcSource, {**settings, **mode}, (), 50)
        reached = SourceOffsets([(each.partition, each.offset) for each in found])
        look = partial(JdbcSource({**settings, **mode}).has_news, reached)
        look()  # the first time it is not known what was there before
        eventually(lambda look=look: not look(), "nothing new")  # type: ignore[misc]
        run("INSERT INTO users VALUES (3, '2020-01-03 00:00:00')")
        eventually(look, "a new row")
        run("DELETE FROM users WHERE id = 3")


def test_bulk_reads_everything_each_time(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    run("CREATE TABLE things (id INTEGER)")
    run("INSERT INTO things VALUES (1), (1), (NULL)")
    records = read(config, mode="bulk", batch_max_rows="2")
    assert sorted(map(str, ids(records))) == ["1", "1", "None"]
    assert {tuple(each.offset) for each in records} == {("polled",)}


def test_a_query_is_read_by_its_columns(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    run("CREATE TABLE a (id INTEGER NOT NULL PRIMARY KEY, word VARCHAR(20))")
    run("INSERT INTO a VALUES (1, 'x:y'), (2, '100%'), (3, 'x:y')")
    query = "SELECT id, word FROM a WHERE word = 'x:y' OR word LIKE '100%'"
    config |= {
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "query": query,
        "batch.max.rows": "2",
    }
    records = read(config)
    assert [(each.record.topic, each.partition) for each in records] == [("db-", {"query": "query"})] * 3
    assert [each.record.value.get("word") for each in records] == ["x:y", "100%", "x:y"]
    assert ids(read(config, after(records[:2]))) == [3]
    assert ids(read(config | {"mode": "bulk", "query.suffix": "ORDER BY id DESC"})) == [3, 2, 1]


def test_tables_are_chosen_by_names_and_patterns(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    for name in ("users", "orders", "user_log"):
        run(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY)")
        run(f"INSERT INTO {name} VALUES (1)")

    def topics(**more: str) -> list[str]:
        return sorted(each.record.topic[3:] for each in read(config, mode="bulk", **more))

    assert topics() == ["orders", "user_log", "users"]
    assert topics(table_whitelist="users,orders") == ["orders", "users"]
    assert topics(table_include_list=r".*\.user.*") == ["user_log", "users"]
    assert topics(table_blacklist="users") == ["orders", "user_log"]
    assert topics(table_exclude_list=r".*\.user.*") == ["orders"]
    assert topics(tasks_max="2") == ["orders", "user_log", "users"]


def test_names_that_would_be_sql_are_only_names(database: tuple[Run, dict[str, str]]) -> None:
    run, config = database
    quote = "`" if "mariadb" in config["connection.url"] else '"'
    name = quote + NASTY.replace(quote, quote * 2) + quote
    run("CREATE TABLE victims (id INTEGER NOT NULL PRIMARY KEY)")
    run(f"CREATE TABLE {name} ({name} INTEGER NOT NULL PRIMARY KEY)")
    run(f"INSERT INTO {name} VALUES (5)")
    chosen = {"mode": "incrementing", "incrementing.column.name": NASTY, "table.include.list": ".*DROP.*"}
    [record] = read(config | chosen)
    assert record.record.value.get(NASTY) == 5
    assert run("SELECT COUNT(*) FROM victims") in ([(0,)], ((0,),))
    with pytest.raises(ConnectError, match="NEVER"):
        read(config | chosen, quote_sql_identifiers="NEVER")


def test_columns_that_may_be_null_are_refused_unless_that_is_switched_off(
    database: tuple[Run, dict[str, str]],
) -> None:
    run, config = database
    run("CREATE TABLE loose (id INTEGER)")
    run("INSERT INTO loose VALUES (1)")
    config |= {"mode": "incrementing", "incrementing.column.name": "id"}
    with pytest.raises(ConnectError, match="nullable"):
        read(config)
    assert ids(read(config, validate_non_null="false")) == [1]


def test_types_of_postgresql(postgres: Postgres) -> None:
    postgres.run("DROP TABLE IF EXISTS kinds")
    postgres.run(
        "CREATE TABLE kinds (a smallint, b bigint, c real, d double precision, e numeric(10,2), f "
        "numeric, g boolean,"
        " h bytea, i date, j time, k timestamp, l timestamptz, m uuid, n jsonb, o int[], p numeric(5,0))"
    )
    postgres.run(
        "INSERT INTO kinds VALUES (1, 2, 1.5, 2.5, 12345678.9, 3.14, true, '\\x00ff', '2024-02-29', "
        "'12:00:01',"
        " '2024-01-01 10:00:00.5', '2024-01-01 10:00:00+02', '00000000-0000-0000-0000-000000000001',"
        " '{\"a\": 1}', '{1,2}', 12345)"
    )
    config = {"connection.url": postgres.url, "connection.user": "postgres", "table.whitelist": "kinds"}
    [found] = read(config, mode="bulk")
    value = dict(found.record.value.items())
    assert value["e"] == Decimal("12345678.90")
    assert value["f"].as_tuple().exponent == -127
    assert value["h"] == b"\x00\xff"
    assert value["i"] == dt.datetime(2024, 2, 29, tzinfo=dt.UTC)
    assert value["j"] == dt.datetime(1970, 1, 1, 12, 0, 1, tzinfo=dt.UTC)
    assert value["k"] == dt.datetime(2024, 1, 1, 10, 0, 0, 500_000, tzinfo=dt.UTC)
    assert value["l"] == dt.datetime(2024, 1, 1, 8, tzinfo=dt.UTC)
    assert (value["m"], value["n"], value["o"]) == (
        "00000000-0000-0000-0000-000000000001",
        '{"a": 1}',
        [1, 2],
    )
    [fit] = read(config, mode="bulk", numeric_mapping="best_fit")
    assert (fit.record.value.get("e"), fit.record.value.get("p")) == (12345678.9, 12345)
    assert fit.record.value_schema.field("p").schema.type is s.Type.INT32
    [local] = read(config, mode="bulk", db_timezone="Europe/Berlin")
    assert local.record.value.get("k") == dt.datetime(2024, 1, 1, 9, 0, 0, 500_000, tzinfo=dt.UTC)


def test_every_mistake_of_a_configuration_is_reported_at_once() -> None:
    plugin = load_plugins().find("JdbcSourceConnector")
    config = {
        "name": "x", "connector.class": "JdbcSource", "connection.url": "jdbc:oracle:thin:@x", "mode":
            "sometimes",
        "poll.interval.ms": "soon", "catalog.pattern": "c", "db.timezone": "Mars",
        "connection.password": "hunter2",
    }  # fmt: skip
    found = validate(plugin, config, DEFAULTS)
    named = {value.key.name for value in found.values if value.errors}
    assert named == {
        "connection.url", "mode", "poll.interval.ms", "catalog.pattern", "topic.prefix", "db.timezone",
    }  # fmt: skip
    assert "hunter2" not in str(found.shown())


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://169.254.169.254/latest",
        "jdbc:sqlite:/etc/passwd",
        "jdbc:postgresql://db.example,169.254.169.254/x",
        "jdbc:postgresql://127.0.0.1/x?sslrootcert=/etc/passwd",
        "jdbc:postgresql://127.0.0.1/x?currentSchema=a%20-c%20b",
        "file:///etc/passwd",
    ],
)
def test_addresses_that_connectors_may_not_reach_are_refused(url: str) -> None:
    config = {"connection.url": url, "mode": "bulk", "topic.prefix": "x"}
    assert [name for name, _ in JdbcSource.check(config)] == ["connection.url"]
