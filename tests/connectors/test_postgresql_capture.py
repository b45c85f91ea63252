"""Change capture of a real PostgreSQL, batch by batch as a worker runs it. test_capture has the worker."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import psycopg
import pytest

from penstock.connect.api.source import SourceOffsets
from penstock.connect.config.validation import validate
from penstock.connect.connectors.postgresql.server import sees
from penstock.connect.connectors.postgresql.source import PostgresSource
from penstock.connect.connectors.postgresql.values import Handling, column_type
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError
from penstock.connect.pipeline.conversion import Conversion
from penstock.connect.pipeline.tolerance import RecordFailed, Tolerance
from penstock.connect.plugins import load_plugins
from tests.connectors.servers import Postgres
from tests.connectors.test_jdbc_source import DEFAULTS


class Capture:
    """The connector with a topic that is a list."""

    def __init__(self, server: Postgres, **more: str) -> None:
        self.config = {
            "database.hostname": "127.0.0.1", "database.port": str(server.port), "database.user": "postgres",
            "database.dbname": "postgres", "topic.prefix": "pg", "slot.name": "capture",
            "table.include.list": "public.*", "max.batch.size": "3",
        } | {name.replace("_", "."): value for name, value in more.items()}  # fmt: skip
        self.offsets = SourceOffsets()
        self.records: list[ConnectRecord] = []
        self.connector = PostgresSource(self.config)

    def batch(self, polls: int = 1000, *, dies: bool = False) -> bool:
        """One batch; one that dies leaves nothing."""
        if not self.connector.has_news(self.offsets):
            return False
        task = PostgresSource.TASK(self.config, self.offsets)
        found = []
        for _ in range(polls if not task.whole else 1000):
            polled = task.poll()
            if not polled:
                break
            found += polled
        task.close()
        if not dies:
            self.records += [each.record for each in found if each.record is not None]
            self.offsets = self.offsets.advanced([(each.partition, each.offset) for each in found])
            self.connector.committed(self.offsets)
        return True

    def drain(self) -> list[ConnectRecord]:
        """What came since the last time."""
        before = len(self.records)
        while self.batch():
            pass
        return self.records[before:]

    def close(self) -> None:
        self.connector.close()


@pytest.fixture
def capturing(postgres: Postgres) -> Iterator[Any]:
    made: list[Capture] = []
    postgres.run("DROP SCHEMA public CASCADE")
    postgres.run("CREATE SCHEMA public")

    def make(**more: str) -> Capture:
        made.append(Capture(postgres, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()
    for (slot,) in postgres.run("SELECT slot_name FROM pg_replication_slots"):
        postgres.run("SELECT pg_drop_replication_slot(%s)", slot)
    for (name,) in postgres.run("SELECT pubname FROM pg_publication"):
        postgres.run(f'DROP PUBLICATION "{name}"')


def ops(records: list[ConnectRecord]) -> list[Any]:
    return [None if each.value is None else each.value.get("op") for each in records]


def replayed(records: list[ConnectRecord]) -> dict[Any, dict[str, Any]]:
    """The table that the records lead to."""
    rows: dict[Any, dict[str, Any]] = {}
    for each in records:
        key = tuple(value for _, value in each.key.items())
        after = None if each.value is None else each.value.get("after")
        if after is None:
            rows.pop(key, None)
        else:
            rows[key] = dict(after.items())
    return rows


def test_a_snapshot_then_every_change_in_debeziums_envelope(postgres: Postgres, capturing: Any) -> None:
    postgres.run("CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, score numeric(6,2))")
    postgres.run("INSERT INTO users VALUES (1, 'a', 1.5), (2, 'b', NULL)")
    capture = capturing()
    first = capture.drain()
    assert ops(first) == ["r", "r"]
    assert {each.topic for each in first} == {"pg.public.users"}
    schema = first[0].value_schema
    assert (schema.name, first[0].key_schema.name) == ("pg.public.users.Envelope", "pg.public.users.Key")
    assert [field.name for field in schema.fields][:5] == ["before", "after", "source", "transaction", "op"]
    source = first[0].value.get("source")
    assert (source.get("db"), source.get("schema"), source.get("table"), source.get("connector")) == (
        "postgres", "public", "users", "postgresql",
    )  # fmt: skip
    postgres.run("INSERT INTO users VALUES (3, 'c', 3)")
    postgres.run("UPDATE users SET name = 'bb' WHERE id = 2")
    postgres.run("DELETE FROM users WHERE id = 1")
    changes = capture.drain()
    assert ops(changes) == ["c", "u", "d", None]
    assert changes[1].value.get("after").get("name") == "bb"
    gone = changes[2].value
    assert (gone.get("before").get("id"), gone.get("before").get("name"), gone.get("after")) == (1, "", None)
    assert changes[3].key == Struct(changes[3].key_schema, {"id": 1})
    assert changes[0].value.get("source").get("txId") > 0
    assert capture.drain() == []


def test_an_old_row_is_whole_with_replica_identity_full_and_a_new_key_is_two_events(
    postgres: Postgres, capturing: Any
) -> None:
    postgres.run("CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL)")
    postgres.run("ALTER TABLE users REPLICA IDENTITY FULL")
    capture = capturing()
    capture.drain()
    postgres.run("INSERT INTO users VALUES (1, 'a')")
    postgres.run("UPDATE users SET name = 'b'")
    postgres.run("UPDATE users SET id = 9")
    changes = capture.drain()
    assert ops(changes) == ["c", "u", "d", None, "c"]
    assert changes[1].value.get("before").get("name") == "a"
    assert [each.key.get("id") for each in changes] == [1, 1, 1, 1, 9]
    assert changes[2].headers[0].key == "__debezium.newkey"
    assert replayed(changes) == {(9,): {"id": 9, "name": "b"}}
    postgres.run("ALTER TABLE users REPLICA IDENTITY DEFAULT")
    postgres.run("UPDATE users SET id = 10")
    assert ops(capture.drain()) == ["d", None, "c"]


def test_large_values_that_were_not_touched_are_placeholders(postgres: Postgres, capturing: Any) -> None:
    postgres.run("CREATE TABLE docs (id int PRIMARY KEY, body text, n int)")
    postgres.run("ALTER TABLE docs ALTER body SET STORAGE EXTERNAL")
    capture = capturing()
    capture.drain()
    postgres.run("INSERT INTO docs VALUES (1, repeat('x', 20000), 1)")
    postgres.run("UPDATE docs SET n = 2")
    _, changed = capture.drain()
    assert changed.value.get("after").get("body") == "__debezium_unavailable_value"
    postgres.run("ALTER TABLE docs REPLICA IDENTITY FULL")
    postgres.run("UPDATE docs SET n = 3")
    [changed] = capture.drain()
    assert changed.value.get("after").get("body") == "x" * 20000


def test_columns_come_and_go(postgres: Postgres, capturing: Any) -> None:
    postgres.run("CREATE TABLE users (id int PRIMARY KEY, name text)")
    capture = capturing()
    capture.drain()
    postgres.run("INSERT INTO users VALUES (1, 'a')")
    postgres.run("ALTER TABLE users ADD color text DEFAULT 'red'")
    postgres.run("INSERT INTO users VALUES (2, 'b', 'blue')")
    postgres.run("ALTER TABLE users DROP name")
    postgres.run("UPDATE users SET color = 'green' WHERE id = 1")
    names = [list(each.value.get("after").values) for each in capture.drain()]
    assert names == [["id", "name"], ["id", "name", "color"], ["id", "color"]]


def test_a_long_transaction_is_cut_into_batches_and_goes_on_where_it_was(
    postgres: Postgres, capturing: Any
) -> None:
    postgres.run("CREATE TABLE users (id int PRIMARY KEY)")
    capture = capturing()
    capture.drain()
    postgres.run("INSERT INTO users SELECT generate_series(1, 100)")
    postgres.run("INSERT INTO users VALUES (101)")
    random = Random(7)
    while capture.batch(polls=random.randrange(1, 6), dies=random.random() < 0.4):
        assert [each.key.get("id") for each in capture.records] == list(range(1, len(capture.records) + 1))
    assert len(capture.records) == 101
    slot = postgres.run("SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots")
    assert int(slot[0][0]) == capture.offsets.items()[0][1]["lsn"]


def test_changes_while_the_snapshot_is_taken_come_once_and_none_is_missed(
    postgres: Postgres, capturing: Any
) -> None:
    """Batches die at random, also in the middle of the snapshot, while two writers change the tables."""
    for table in ("a", "b"):
        postgres.run(f"CREATE TABLE {table} (id int PRIMARY KEY, n int NOT NULL)")
        postgres.run(f"INSERT INTO {table} SELECT i, 0 FROM generate_series(1, 300) i")

    def write(table: str, random: Random) -> None:
        for number in range(60):
            key = random.randrange(1, 330)
            postgres.run(
                f"INSERT INTO {table} VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET n = excluded.n"
                if random.random() < 0.8
                else f"DELETE FROM {table} WHERE id = %s AND n <> %s",
                key,
                number,
            )

    writers = [threading.Thread(target=write, args=(name, Random(ord(name)))) for name in "ab"]
    for each in writers:
        each.start()
    random = Random(3)
    capture = capturing()
    while any(each.is_alive() for each in writers):
        capture.batch(polls=random.randrange(1, 10), dies=random.random() < 0.3)
    capture.drain()
    for table in ("a", "b"):
        mine = [each for each in capture.records if each.topic == f"pg.public.{table}"]
        expected = {(key,): {"id": key, "n": n} for key, n in postgres.run(f"SELECT id, n FROM {table}")}
        assert replayed(mine) == expected
        created: set[Any] = set()
        for each in mine:  # no change twice: a row is created only when it is not there
            key = each.key.get("id")
            if each.value is not None and each.value.get("op") in ("r", "c"):
                assert key not in created
                created.add(key)
            elif each.value is not None and each.value.get("op") == "d":
                assert key in created
                created.discard(key)


def test_a_transaction_is_one_batch_if_the_connector_sets_the_boundaries(
    postgres: Postgres, capturing: Any
) -> None:
    postgres.run("CREATE TABLE users (id int PRIMARY KEY)")
    capture = capturing(transaction_boundary="connector")
    given = {**capture.config, "name": "c", "connector.class": "PostgresConnector"}
    assert not validate(load_plugins().find("PostgresConnector"), given, DEFAULTS).errors
    capture.drain()
    postgres.run("INSERT INTO users SELECT generate_series(1, 100)")
    task = PostgresSource.TASK(capture.config, capture.offsets)
    polled, inside = 0, []
    while found := task.poll():
        polled += len([each for each in found if each.record is not None])
        inside.append(task.in_transaction)
    task.close()
    assert (polled, inside[-1], set(inside[:-1])) == (100, False, {True})


def test_a_slot_moves_on_while_only_other_tables_change(
    postgres: Postgres, capturing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the server would keep its whole log for us."""
    monkeypatch.setattr("penstock.connect.connectors.postgresql.source.ADVANCE_BYTES", 1 << 16)
    postgres.run("CREATE TABLE users (id int PRIMARY KEY)")
    postgres.run("CREATE TABLE others (id int, text text)")
    capture = capturing(table_include_list="public.users", publication_autocreate_mode="filtered")
    capture.drain()
    lag = "SELECT pg_current_wal_flush_lsn() - confirmed_flush_lsn FROM pg_replication_slots"
    for _ in range(3):
        postgres.run("INSERT INTO others SELECT i, repeat(md5(i::text), 10) FROM generate_series(1, 2000) i")
        assert int(postgres.run(lag)[0][0]) > 1 << 18
        assert not capture.batch()
        assert int(postgres.run(lag)[0][0]) < 1 << 16
    postgres.run("INSERT INTO users VALUES (1)")
    assert ops(capture.drain()) == ["c"]


def test_a_signal_reads_a_table_again(postgres: Postgres, capturing: Any) -> None:
    postgres.run("CREATE TABLE users (id int PRIMARY KEY)")
    postgres.run("CREATE TABLE debezium_signal (id text PRIMARY KEY, type text, data text)")
    postgres.run("INSERT INTO users VALUES (1), (2)")
    capture = capturing(signal_data_collection="public.debezium_signal", table_include_list="public.users",
                        publication_autocreate_mode="filtered")  # fmt: skip
    assert ops(capture.drain()) == ["r", "r"]
    data = '{"data-collections": ["public.users"]}'
    postgres.run("INSERT INTO debezium_signal VALUES ('1', 'execute-snapshot', %s)", data)
    postgres.run("INSERT INTO users VALUES (3)")
    again = capture.drain()
    assert [each.key.get("id") for each in again if each.value.get("op") == "r"] == [1, 2, 3]
    assert ops(again) == ["r", "r", "r"]  # the third row is in the snapshot: its change is left out


def test_truncation_and_heartbeats(postgres: Postgres, capturing: Any) -> None:
    postgres.run("CREATE TABLE users (id int PRIMARY KEY)")
    capture = capturing(skipped_operations="none", heartbeat_interval_ms="1")
    while not [each for each in capture.records if each.topic == "__debezium-heartbeat.pg"]:
        capture.batch()
    postgres.run("TRUNCATE users")
    while "t" not in ops([each for each in capture.records if each.topic == "pg.public.users"]):
        capture.batch()


def test_a_slot_that_is_gone_is_an_error_and_not_a_gap(postgres: Postgres, capturing: Any) -> None:
    postgres.run("CREATE TABLE users (id int PRIMARY KEY)")
    capture = capturing()
    capture.drain()
    postgres.run("SELECT pg_drop_replication_slot('capture')")
    with pytest.raises(ConnectError, match="Reset its offsets"):
        capture.connector.has_news(capture.offsets)


def test_types_have_debeziums_schemas(postgres: Postgres, capturing: Any) -> None:
    postgres.run(
        "CREATE TABLE kinds (id int PRIMARY KEY, a bigint, b real, c boolean, d bytea, e date, f "
        "time, g timestamp,"
        " h timestamptz, i uuid, j jsonb, k int[], l text[], m numeric, n interval, o timestamp(3))"
    )
    row = (
        "(%s, 5, 1.5, true, '\\x00ff', '2024-02-29', '12:00:01.5', '2024-01-01 10:00:00.5', "
        "'2024-01-01 10:00:00+02',"
        " '00000000-0000-0000-0000-000000000001', '{\"a\": 1}', '{1,NULL}', '{\"a,b\",c}', 3.14, '1 "
        "day 01:00:00',"
        " '2024-01-01')"
    )
    postgres.run(f"INSERT INTO kinds VALUES {row % 1}")
    capture = capturing()
    [read] = capture.drain()
    postgres.run(f"INSERT INTO kinds VALUES {row % 2}")
    [created] = capture.drain()
    for record, number in ((read, 1), (created, 2)):
        row_of = record.value.get("after")
        assert dict(row_of.items()) | {"m": None} == {
            "id": number, "a": 5, "b": 1.5, "c": True, "d": b"\x00\xff", "e": 19782, "f": 43_201_500_000,
            "g": 1_704_103_200_500_000, "h": "2024-01-01T08:00:00.000000Z",
            "i": "00000000-0000-0000-0000-000000000001", "j": '{"a": 1}', "k": [1, None], "l": ["a,b", "c"],
            "m": None, "n": 90_000_000_000, "o": 1_704_067_200_000,
        }  # fmt: skip
        assert row_of.get("m").get("scale") == 2
    assert created.value_schema == read.value_schema
    assert read.value_schema.field("after").schema.field("g").schema.name == "io.debezium.time.MicroTimestamp"


def test_snapshots_know_transactions_by_32_bits_of_their_number() -> None:
    assert sees("100:110:105,107", 99)
    assert [sees("100:110:105,107", xid) for xid in (104, 105, 107, 109, 110, 500)] == [
        True, False, False, True, False, False,
    ]  # fmt: skip
    epoch = 5 << 32
    assert not sees(f"{epoch - 2}:{epoch + 5}:{epoch - 2}", 0xFFFFFFFE)
    assert sees(f"{epoch - 2}:{epoch + 5}:{epoch - 2}", 3)
    assert not sees(f"{epoch - 2}:{epoch + 5}:{epoch - 2}", 9)


def test_times_before_christ_and_after_the_calendar_are_numbers() -> None:
    handling = Handling("precise", "adaptive", "x")
    decode = column_type(1114, -1, handling).decode
    assert decode("0001-01-01 00:00:00") == -62_135_596_800_000_000
    assert decode("0001-12-31 00:00:00 BC") == -62_135_683_200_000_000
    assert decode("12024-01-01 00:00:00") == 317_273_587_200_000_000
    assert column_type(1082, -1, handling).decode("0001-12-31 BC") == -719_163


def test_every_mistake_of_a_configuration_is_reported_at_once() -> None:
    plugin = load_plugins().find("io.debezium.connector.postgresql.PostgresConnector")
    config = {
        "name": "x", "connector.class": "PostgresConnector", "database.hostname": "169.254.169.254",
        "plugin.name": "wal2json", "slot.name": "a; DROP", "column.exclude.list": "x", "topic.prefix": "p",
        "table.include.list": "(", "database.user": "u",
    }  # fmt: skip
    named = {value.key.name for value in validate(plugin, config, DEFAULTS).values if value.errors}
    assert named == {
        "database.hostname", "plugin.name", "slot.name", "column.exclude.list", "table.include.list",
        "database.dbname",
    }  # fmt: skip


def test_changes_as_bytes_are_those_of_the_longer_way_wherever_a_batch_is_cut(
    postgres: Postgres, capturing: Any
) -> None:
    """The slot does not move while it is read: both ways see the same changes."""
    postgres.run("CREATE TABLE users (id int PRIMARY KEY, name text, score numeric(6,2), at timestamp)")
    postgres.run("CREATE TABLE notes (id int, text text)")
    postgres.run("ALTER TABLE notes REPLICA IDENTITY FULL")
    postgres.run("INSERT INTO users SELECT i, 'snap' || i, i, now() FROM generate_series(1, 8) i")
    capture = capturing(**{"key.converter": JSON, "value.converter": JSON})
    settled = _after_snapshots(capture)
    with psycopg.connect(postgres.dsn) as connection:
        run = connection.execute
        for number in range(20, 60):
            values = (number, 'q"ö\\', number)
            run("INSERT INTO users VALUES (%s, %s, %s, '2026-01-02 03:04:05.678')", values)
            run("INSERT INTO notes VALUES (%s, %s)", (number, "x" * (3000 if number % 7 == 0 else 3)))
        run("UPDATE users SET name = NULL WHERE id < 30")
        run("UPDATE users SET id = id + 1000 WHERE id > 50")
        run("DELETE FROM notes WHERE id % 3 = 0")
    postgres.run("ALTER TABLE users ADD COLUMN more real DEFAULT 1.5")
    postgres.run("UPDATE users SET score = 'NaN' WHERE id = 21")
    postgres.run("UPDATE users SET more = 2 WHERE id = 22")
    postgres.run("DELETE FROM users WHERE id < 25")
    slow = _bytes_of(capture, settled, quick=False)
    quick = _bytes_of(capture, settled, quick=True)
    assert (slow.quick, quick.quick) == (0, len(quick.rows) - 28)  # those with another key or no number
    assert quick.rows == slow.rows
    cut: list[Any] = []
    part = _bytes_of(capture, settled, quick=True, polls=3)
    while part.rows:
        cut += part.rows
        part = _bytes_of(capture, part.offsets, quick=True, polls=3)
    assert _by_topic(cut) == slow.rows


JSON = "org.apache.kafka.connect.json.JsonConverter"
_NOW = re.compile(rb'"op":"(.)","ts_ms":\d+,"ts_us":\d+,"ts_ns":\d+')


class _Batch(NamedTuple):
    rows: list[Any]
    quick: int
    offsets: SourceOffsets


def _after_snapshots(capture: Capture) -> SourceOffsets:
    offsets = SourceOffsets()
    while not (at := offsets.get({"server": "pg"})) or at["pending"]:
        offsets = _bytes_of(capture, offsets, quick=True).offsets
    return offsets


def _bytes_of(capture: Capture, offsets: SourceOffsets, *, quick: bool, polls: int = 1000) -> _Batch:
    """The rows of a batch, and how many of them came as bytes."""
    capture.connector.has_news(offsets)
    conversion = Conversion(capture.config, DEFAULTS, Tolerance.of({}))
    forms = conversion.json_forms
    assert forms is not None
    task, rows, bytes_already = PostgresSource.TASK(capture.config, offsets), [], 0
    for _ in range(polls):
        encoded = task.poll_encoded(forms) if quick else ()
        polled = () if encoded else task.poll()
        if not encoded and not polled:
            break
        for portion in encoded:
            bytes_already += len(portion.values)
            rows += [(portion.topic, *each) for each in zip(portion.keys, portion.values, strict=True)]
            offsets = offsets.advanced([(portion.partition, portion.offset)])
        for partition, offset, record in polled:
            offsets = offsets.advanced([(partition, offset)])
            if record is not None:
                rows.append((record.topic, *_converted(conversion, record)))
    task.close()
    return _Batch(_by_topic(rows), bytes_already, offsets)


def _converted(conversion: Conversion, record: ConnectRecord) -> tuple[bytes | None, bytes | None]:
    try:
        row = conversion.outward(record)
    except RecordFailed:
        return b"failed", None
    assert row is not None
    return row.key, row.value


def _by_topic(rows: list[Any]) -> list[Any]:
    """The order within a topic is what counts. Two readings have two times."""
    return [
        (topic, key, value and _NOW.sub(rb"\1", value))
        for topic, key, value in sorted(rows, key=lambda each: each[0])
    ]
